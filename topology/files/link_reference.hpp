// LinkReference: a link as documents name it, by its name and what stands at its ends, and its JSON form:
// members `a`, `b` and `class` of the object that speaks of it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "topology/files/json_text.hpp"
#include "topology/model/fabric.hpp"

namespace weft::files {

class JsonView;

/// Whether a link joins a host to its leaf or two switches.
enum class LinkClass { host_leaf, switch_switch };
std::string_view to_string(LinkClass kind);  // host-leaf | switch-switch
std::optional<LinkClass> parse_link_class(std::string_view text);
std::optional<FabricKind> parse_fabric_kind(std::string_view text);  // roce | infiniband

struct LinkEnd {
  std::string node;
  PortNumber port;
  std::optional<Guid> guid = std::nullopt;
  std::string port_name = {};  // what the switch calls the port; empty: not known
  friend bool operator==(const LinkEnd&, const LinkEnd&) = default;
};

struct LinkReference {
  std::string name;
  LinkEnd a;
  LinkEnd b;
  LinkClass kind = LinkClass::switch_switch;
  friend bool operator==(const LinkReference&, const LinkReference&) = default;
};

LinkReference refer_to(const Fabric& fabric, LinkId link);

/// `,"a":{"node","port","port_name","guid"},"b":{...},"class":"..."`.
void put_ends(JsonText& out, const LinkReference& link);

/// The reference whose ends stand in `object`, under that name; absent where `object` has no `a`.
Result<std::optional<LinkReference>> read_ends(const JsonView& object, std::string name);

}  // namespace weft::files
