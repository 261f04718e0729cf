#include "topology/files/fabric_json.hpp"

#include "topology/files/json_text.hpp"
#include "topology/model/fabric.hpp"

namespace weft::files {
namespace {

void put_node(JsonText& out, const Node& node) {
  put(out, "\n{{\"name\":\"{}\",\"kind\":\"{}\",\"tier\":\"{}\"", node.name,
      node.kind == NodeKind::host ? "host" : "switch", to_string(node.tier));
  if (node.pod) put(out, ",\"pod\":{}", *node.pod);
  if (node.plane) put(out, ",\"plane\":{}", *node.plane);
  if (node.guid) put(out, ",\"guid\":\"0x{:016x}\"", node.guid->value());
  put(out, "}}");
}

void put_end(JsonText& out, const Fabric& fabric, PortId id) {
  const Port& port = fabric.port(id);
  put(out, "{{\"node\":\"{}\",\"port\":{}", fabric.name_of(port.node), port.number.value());
  if (!port.name.empty()) put(out, ",\"port_name\":\"{}\"", port.name);
  put(out, "}}");
}

void put_link(JsonText& out, const Fabric& fabric, LinkId id) {
  const Link& link = fabric.link(id);
  put(out, "\n{{\"name\":\"{}\",\"a\":", fabric.name_of(id));
  put_end(out, fabric, link.a);
  put(out, ",\"b\":");
  put_end(out, fabric, link.b);
  put(out, ",\"rate\":{}}}", link.rate.bits_per_second());
}

}  // namespace

std::string fabric_json(const Fabric& fabric, const DocumentStamp& stamp) {
  JsonText out;
  put(out, "{{");
  put_stamp(out, "weft.fabric/1", stamp);
  put(out, ",\"fabric\":");
  put_string(out, fabric.name());
  put(out, ",\"kind\":\"{}\",\n\"nodes\":", to_string(fabric.kind()));
  put_array(out, fabric.nodes(), [&](const Node& node) { put_node(out, node); });
  put(out, ",\n\"links\":");
  std::uint32_t next = 0;
  put_array(out, fabric.links(), [&](const Link&) { put_link(out, fabric, LinkId(next++)); });
  put(out, "}}\n");
  return fmt::to_string(out);
}

}  // namespace weft::files
