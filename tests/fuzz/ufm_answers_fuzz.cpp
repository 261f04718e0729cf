// Whatever a UFM answers: an error, or ports whose names are read back as they are written, each once, in
// conditions that may be shown; and of these a cable is isolated only where it is up and at one of its ends.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "balancer/export/ufm_links.hpp"
#include "topology/model/clos.hpp"

namespace {

using namespace weft;
using namespace weft::exports;

void check_id(const UfmPortId& id) {
  if (parse_ufm_port_id(to_string(id)) != id) std::abort();
}

void check(const UfmPorts& ports, const UnhealthyPorts& unhealthy) {
  static const Fabric fabric =
      make_clos({.name = "f", .kind = FabricKind::infiniband, .leaves = 2, .spines = 2, .hosts_per_leaf = 1})
          .value();
  const UfmLinks links(fabric, ports, unhealthy, 2);
  for (std::uint32_t i = 0; i < fabric.link_count(); ++i) {
    const auto end = links.end_to_isolate(LinkId(i));
    if (!end) continue;
    if (links.seen(LinkId(i)).state != UfmLinks::State::up) std::abort();
    if (!ports.contains(end->id)) std::abort();
  }
}

}  // namespace

/// The answer about ports, and behind the first line that is empty the one about those that are unhealthy.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto middle = std::min(text.find("\n\n"), size);
  const auto ports = parse_ufm_ports(text.substr(0, middle));
  const auto unhealthy = parse_unhealthy_ports(text.substr(middle));
  for (const auto& [id, port] : ports.value_or(UfmPorts())) {
    check_id(id);
    if (port.peer) check_id(*port.peer);
    if (port.id != id) std::abort();
  }
  for (const auto& [id, port] : unhealthy.value_or(UnhealthyPorts())) {
    check_id(id);
    if (port.id != id || port.conditions.empty()) std::abort();
    for (const std::string& condition : port.conditions)
      if (!std::ranges::all_of(condition, [](char c) { return c >= 0x20 && c <= 0x7e; })) std::abort();
  }
  check(ports.value_or(UfmPorts()), unhealthy.value_or(UnhealthyPorts()));
  ufm_message(text);
  return 0;
}
