#include "topology/files/link_reference.hpp"

#include "topology/base/whole_number.hpp"
#include "topology/files/json_fields.hpp"

namespace weft::files {
namespace {

LinkEnd end_of(const Fabric& fabric, PortId id) {
  const Port& port = fabric.port(id);
  const Node& node = fabric.node(port.node);
  return {.node = node.name, .port = port.number, .guid = node.guid, .port_name = port.name};
}

void put_end(JsonText& out, std::string_view key, const LinkEnd& end) {
  put(out, ",\"{}\":{{\"node\":", key);
  put_string(out, end.node);
  put(out, ",\"port\":{}", end.port.value());
  if (!end.port_name.empty()) {
    put(out, ",\"port_name\":");
    put_string(out, end.port_name);
  }
  if (end.guid) put(out, ",\"guid\":\"0x{:016x}\"", end.guid->value());
  put(out, "}}");
}

Result<Guid> as_guid(const JsonView& view) {
  WEFT_TRY(const auto text, view.text());
  if (text.starts_with("0x"))
    if (const auto number = parse_whole_number<std::uint64_t>(text.substr(2), 16)) return Guid(*number);
  return view.error("expected a GUID as in 0x0002c90300a1b2c3, found '{}'", text.substr(0, 40));
}

Result<LinkEnd> as_end(const JsonView& view) {
  LinkEnd end;
  WEFT_TRY_VOID(in_turn([&] { return need_member(view, "node", end.node, as_text); },
                        [&] { return need_member(view, "port", end.port, as_short); },
                        [&] { return read_member(view, "port_name", end.port_name, as_text); },
                        [&] { return read_member(view, "guid", end.guid, as_guid); }));
  return end;
}

}  // namespace

std::string_view to_string(LinkClass kind) {
  switch (kind) {
    case LinkClass::host_leaf:
      return "host-leaf";
    case LinkClass::switch_switch:
      return "switch-switch";
  }
  return "";
}

std::optional<LinkClass> parse_link_class(std::string_view text) {
  for (const auto kind : {LinkClass::host_leaf, LinkClass::switch_switch})
    if (to_string(kind) == text) return kind;
  return std::nullopt;
}

std::optional<FabricKind> parse_fabric_kind(std::string_view text) {
  for (const auto kind : {FabricKind::roce, FabricKind::infiniband})
    if (to_string(kind) == text) return kind;
  return std::nullopt;
}

LinkReference refer_to(const Fabric& fabric, LinkId link) {
  return {.name = fabric.name_of(link),
          .a = end_of(fabric, fabric.link(link).a),
          .b = end_of(fabric, fabric.link(link).b),
          .kind = fabric.between_switches(link) ? LinkClass::switch_switch : LinkClass::host_leaf};
}

void put_ends(JsonText& out, const LinkReference& link) {
  put_end(out, "a", link.a);
  put_end(out, "b", link.b);
  put(out, ",\"class\":\"{}\"", to_string(link.kind));
}

Result<std::optional<LinkReference>> read_ends(const JsonView& object, std::string name) {
  if (!object.find("a")) return std::nullopt;
  LinkReference link{.name = std::move(name)};
  const auto as_class = as_word(&parse_link_class, "host-leaf or switch-switch");
  WEFT_TRY_VOID(in_turn([&] { return need_member(object, "a", link.a, as_end); },
                        [&] { return need_member(object, "b", link.b, as_end); },
                        [&] { return need_member(object, "class", link.kind, as_class); }));
  return link;
}

}  // namespace weft::files
