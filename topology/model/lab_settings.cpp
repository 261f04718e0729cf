#include "topology/model/lab_settings.hpp"

#include <algorithm>

#include "topology/base/check.hpp"
#include "topology/model/fabric_builder.hpp"

namespace weft {
namespace {

Bandwidth fastest_link(const Fabric& fabric) {
  Bandwidth fastest;
  for (const Link& link : fabric.links()) fastest = std::max(fastest, link.rate);
  return fastest;
}

Bandwidth scaled(Bandwidth rate, Bandwidth fastest, const LabSettings& settings) {
  return settings.link_rate ? *settings.link_rate * (rate / fastest) : rate;
}

}  // namespace

std::optional<Bandwidth> lab_rate(const Fabric& fabric, const LabSettings& settings, LinkId link) {
  if (!settings.link_rate) return std::nullopt;
  return scaled(fabric.link(link).rate, fastest_link(fabric), settings);
}

Fabric with_lab_rates(const Fabric& fabric, const LabSettings& settings) {
  FabricBuilder builder(fabric.name(), fabric.kind());
  const Bandwidth fastest = fastest_link(fabric);
  // The same order gives the same ids; what was once accepted is accepted again.
  for (const Node& node : fabric.nodes()) WEFT_CHECK(builder.add_node(node).has_value());
  for (const Port& port : fabric.ports()) {
    const auto id = builder.add_port(port.node, port.number);
    WEFT_CHECK(id && (port.name.empty() || builder.name_port(*id, port.name)));
  }
  for (const Link& link : fabric.links())
    WEFT_CHECK(builder.add_link(link.a, link.b, scaled(link.rate, fastest, settings)).has_value());
  return std::move(builder).build();
}

}  // namespace weft
