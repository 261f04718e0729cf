#include "collectors/web/layout_json.hpp"

#include <functional>
#include <ranges>

#include "collectors/report/fabric_layout.hpp"
#include "topology/files/json_text.hpp"

namespace weft::web {
namespace {

using files::JsonText;
using files::put;

template <class Items, class NumberOf>
void put_steps(JsonText& out, std::string_view name, const Items& items, NumberOf number_of) {
  std::int64_t before = 0;
  put(out, "\"{}\":", name);
  files::put_array(out, items, [&](const auto& item) {
    const auto number = static_cast<std::int64_t>(number_of(item));
    put(out, "{}", number - before);
    before = number;
  });
}

void put_nodes(JsonText& out, const Fabric& fabric) {
  out.append(std::string_view("\"nodes\":{\"names\":"));
  files::put_array(out, fabric.nodes(), [&](const Node& node) { files::put_string(out, node.name); });
  out.push_back(',');
  put_steps(out, "tiers", fabric.nodes(), [](const Node& node) { return node.tier; });
  out.push_back(',');
  put_steps(out, "pods", fabric.nodes(), [](const Node& node) { return node.pod.value_or(0); });
  if (fabric.node_count() > kMaxPlacedNodes) {
    out.push_back('}');
    return;
  }
  const auto layout = report::layout_of(fabric);
  out.append(std::string_view(",\"x\":"));
  files::put_array(out, layout.nodes, [&](const report::NodeBox& at) { put(out, "{:.0f}", at.x); });
  out.append(std::string_view(",\"y\":"));
  files::put_array(out, layout.nodes, [&](const report::NodeBox& at) { put(out, "{:.0f}", at.y); });
  put(out, "}},\"width\":{:.0f},\"height\":{:.0f}", layout.width, layout.height);
}

void put_links(JsonText& out, const Fabric& fabric) {
  const auto node_at = [&](PortId port) { return fabric.port(port).node.value(); };
  const auto port_at = [&](PortId port) { return fabric.port(port).number.value(); };
  out.append(std::string_view(",\"links\":{"));
  put_steps(out, "a", fabric.links(), [&](const Link& link) { return node_at(link.a); });
  out.push_back(',');
  put_steps(out, "b", fabric.links(), [&](const Link& link) { return node_at(link.b); });
  out.push_back(',');
  put_steps(out, "a_ports", fabric.links(), [&](const Link& link) { return port_at(link.a); });
  out.push_back(',');
  put_steps(out, "b_ports", fabric.links(), [&](const Link& link) { return port_at(link.b); });
  out.push_back(',');
  put_steps(out, "rates", fabric.links(),
            [](const Link& link) { return link.rate.bits_per_second() / 1'000'000; });
  out.append(std::string_view("},\"port_names\":{"));
  bool first = true;
  for (std::uint32_t l = 0; l < fabric.link_count(); ++l) {
    const Port& a = fabric.port(fabric.link(LinkId(l)).a);
    const Port& b = fabric.port(fabric.link(LinkId(l)).b);
    if (a.name.empty() && b.name.empty()) continue;
    put(out, "{}\"{}\":[", first ? "" : ",", l);
    first = false;
    files::put_string(out, a.name);
    out.push_back(',');
    files::put_string(out, b.name);
    out.push_back(']');
  }
  out.push_back('}');
}

}  // namespace

std::string layout_json(const Fabric& fabric) {
  JsonText out;
  out.append(std::string_view("{\"fabric\":"));
  files::put_string(out, fabric.name());
  put(out, ",\"kind\":\"{}\",", to_string(fabric.kind()));
  put_nodes(out, fabric);
  put_links(out, fabric);
  out.push_back('}');
  return fmt::to_string(out);
}

}  // namespace weft::web
