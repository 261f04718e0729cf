#include "topology/files/explicit_fabric.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>

#include "topology/base/check.hpp"
#include "topology/base/whole_number.hpp"
#include "topology/files/yaml_fields.hpp"
#include "topology/model/clos.hpp"
#include "topology/model/fabric.hpp"
#include "topology/model/fabric_builder.hpp"
#include "topology/model/tree_levels.hpp"

namespace weft::files {
namespace {

using namespace std::string_view_literals;

constexpr std::array kNodeKeys{"name"sv, "kind"sv,  "tier"sv,       "pod"sv,        "plane"sv,
                               "guid"sv, "ports"sv, "port_guids"sv, "port_names"sv, "guest"sv};
constexpr std::array kLinkKeys{"a"sv, "b"sv, "rate"sv};

struct NodeEntry {
  YamlView where;
  Node node = {};
  bool has_tier = false;
  std::vector<PortNumber> ports = {};
  std::map<PortNumber, Guid> port_guids = {};
  std::map<PortNumber, std::string> port_names = {};
  bool guest = false;  // of the lab
};

struct End {
  std::uint32_t node = 0;  // index of the NodeEntry
  std::optional<PortNumber> port;
  std::string name = {};  // of the port, where the file gives that
};

struct LinkEntry {
  YamlView where;
  End a = {};
  End b = {};
  Bandwidth rate = Bandwidth::gbit(400);  // as in the builders of clos.hpp
};

Result<NodeKind> yaml_node_kind(YamlView value, std::string_view key) {
  if (value.text() == "host") return NodeKind::host;
  if (value.text() == "switch") return NodeKind::switch_;
  return value.error("{}: expected host or switch, found {}", key, value.described());
}

Result<Tier> yaml_tier(YamlView value, std::string_view key) {
  for (const Tier tier : kTiers)
    if (value.text() == to_string(tier)) return tier;
  return value.error("{}: expected host, leaf, spine, core, tier4, tier5 or tier6, found {}", key,
                     value.described());
}

Result<Guid> yaml_guid(YamlView value, std::string_view key) {
  auto text = value.text();
  if (text.starts_with("0x")) text.remove_prefix(2);
  const auto number = parse_whole_number<std::uint64_t>(text, 16);
  if (!number || *number == 0)
    return value.error("{}: expected a GUID as in 0x0002c90300a1b2c3, found {}", key, value.described());
  return Guid(*number);
}

Result<PortNumber> yaml_port_number(YamlView value) {
  WEFT_TRY(const auto number, yaml_count(value, "ports"));
  if (number == 0 || number > std::numeric_limits<std::uint16_t>::max())
    return value.error("ports: expected numbers from 1 to 65535, found {}", value.described());
  return PortNumber(static_cast<std::uint16_t>(number));
}

Result<std::vector<PortNumber>> yaml_ports(YamlView list, std::string_view key) {
  WEFT_TRY_VOID(yaml_sequence(list, key));
  std::vector<PortNumber> ports;
  for (auto item = list.first(); item; item = item->next()) {
    WEFT_TRY(const auto number, yaml_port_number(*item));
    ports.push_back(number);
  }
  return ports;
}

/// {1: 0x0002c90300a1b2c4, 2: ...}: `read` reads what is said of each port.
template <class Value>
Result<std::map<PortNumber, Value>> yaml_by_port(YamlView map, std::string_view key,
                                                 Result<Value> (*read)(YamlView, std::string_view)) {
  if (map.kind() != YamlKind::map)
    return map.error("{}: expected a map by port numbers as in {{1: ..., 2: ...}}, found {}", key,
                     map.described());
  std::map<PortNumber, Value> values;
  for (auto at = map.first(); at;) {
    WEFT_TRY(const auto number, yaml_port_number(*at));
    const auto value_at = at->next();
    if (!value_at) break;
    WEFT_TRY(auto value, read(*value_at, key));
    if (!values.emplace(number, std::move(value)).second)
      return at->error("{}: port {} stands twice", key, at->text());
    at = value_at->next();
  }
  return values;
}

Result<std::map<PortNumber, Guid>> yaml_port_guids(YamlView value, std::string_view key) {
  return yaml_by_port<Guid>(value, key, &yaml_guid);
}

Result<std::map<PortNumber, std::string>> yaml_port_names(YamlView value, std::string_view key) {
  return yaml_by_port<std::string>(value, key, &yaml_text);
}

Result<bool> yaml_truth(YamlView value, std::string_view key) {
  if (value.text() == "true") return true;
  if (value.text() == "false") return false;
  return value.error("{}: expected true or false, found {}", key, value.described());
}

Result<NodeEntry> read_node(YamlView where) {
  WEFT_TRY(const auto fields, YamlFields::read(where, "a node", kNodeKeys));
  NodeEntry entry{.where = where};
  Node& node = entry.node;
  std::optional<Tier> tier;
  const auto done = in_turn([&] { return fields.need_into("name", node.name, yaml_text); },
                            [&] { return fields.read_into("kind", node.kind, yaml_node_kind); },
                            [&] { return fields.read_into("tier", tier, yaml_tier); },
                            [&] { return fields.read_into("pod", node.pod, yaml_count); },
                            [&] { return fields.read_into("plane", node.plane, yaml_count); },
                            [&] { return fields.read_into("guid", node.guid, yaml_guid); },
                            [&] { return fields.read_into("ports", entry.ports, yaml_ports); },
                            [&] { return fields.read_into("port_guids", entry.port_guids, yaml_port_guids); },
                            [&] { return fields.read_into("port_names", entry.port_names, yaml_port_names); },
                            [&] { return fields.read_into("guest", entry.guest, yaml_truth); });
  if (!done) return pass_on(done);
  const bool is_host = node.kind == NodeKind::host;
  if (entry.guest && !is_host) return where.error("node '{}': only a host can be a guest", node.name);
  if (tier && is_host != (*tier == Tier::host))
    return where.error("node '{}': a {} cannot be of tier {}", node.name, is_host ? "host" : "switch",
                       to_string(*tier));
  entry.has_tier = tier || is_host;
  node.tier = tier.value_or(is_host ? Tier::host : Tier::leaf);
  return entry;
}

/// Reads the file's entries, then builds: ports that the file numbers come first, so that the others do not
/// take their numbers.
class ExplicitReader {
 public:
  ExplicitReader(std::string name, FabricKind kind) : builder_(std::move(name), kind) {}

  Result<ExplicitFabric> read(YamlView nodes, YamlView links) && {
    const auto done =
        in_turn([&] { return read_nodes(nodes); }, [&] { return read_links(links); },
                [&] { return fill_tiers(); }, [&] { return add_nodes(); }, [&] { return add_links(); });
    if (!done) return pass_on(done);
    return ExplicitFabric{std::move(builder_).build(), std::move(guests_)};
  }

 private:
  Result<void> read_nodes(YamlView list) {
    WEFT_TRY_VOID(yaml_sequence(list, "nodes"));
    for (auto item = list.first(); item; item = item->next()) {
      WEFT_TRY(auto entry, read_node(*item));
      const auto index = static_cast<std::uint32_t>(nodes_.size());
      if (const auto [at, is_new] = index_.emplace(entry.node.name, index); !is_new)
        return item->error("node '{}' stands twice, first in line {}", at->first,
                           nodes_[at->second].where.line());
      if (const auto checked = check_guids(entry); !checked) return checked;
      if (entry.guest) guests_.push_back(entry.node.name);
      nodes_.push_back(std::move(entry));
    }
    if (nodes_.empty()) return list.error("nodes: expected at least one node");
    return {};
  }

  /// A GUID is one node's, and one port's.
  Result<void> check_guids(const NodeEntry& entry) {
    if (entry.node.guid && !node_guids_.insert(*entry.node.guid).second)
      return entry.where.error("node '{}': the GUID 0x{:x} is another node's too", entry.node.name,
                               entry.node.guid->value());
    for (const auto& [number, guid] : entry.port_guids)
      if (!port_guids_.insert(guid).second)
        return entry.where.error("node '{}': the GUID 0x{:x} is another port's too", entry.node.name,
                                 guid.value());
    return {};
  }

  Result<End> read_end(YamlView value, std::string_view key) const {
    const auto name = split_port(value.text());
    if (!name || name->node.empty() || (name->port && name->port->value() == 0))
      return value.error("{}: expected NODE/PORT as in leaf1/p3 or leaf1/Ethernet1/6, found {}", key,
                         value.described());
    const auto at = index_.find(std::string(name->node));
    if (at == index_.end()) return value.error("{}: no node '{}' stands under nodes", key, name->node);
    return End{at->second, name->port, std::string(name->name)};
  }

  Result<void> read_links(YamlView list) {
    WEFT_TRY_VOID(yaml_sequence(list, "links"));
    for (auto item = list.first(); item; item = item->next()) {
      if (links_.size() >= kMaxLinks) return item->error("links: more than {} links", kMaxLinks);
      WEFT_TRY(auto entry, read_link(*item));
      links_.push_back(std::move(entry));
    }
    return {};
  }

  Result<LinkEntry> read_link(YamlView where) const {
    WEFT_TRY(const auto fields, YamlFields::read(where, "a link", kLinkKeys));
    LinkEntry entry{.where = where};
    const auto end = [this](YamlView value, std::string_view key) { return read_end(value, key); };
    WEFT_TRY_VOID(in_turn([&] { return fields.need_into("a", entry.a, end); },
                          [&] { return fields.need_into("b", entry.b, end); },
                          [&] { return fields.read_into("rate", entry.rate, yaml_bandwidth); }));
    return entry;
  }

  /// A switch next to hosts is a leaf, the next a spine, then core, tier4 and on.
  Result<void> fill_tiers() {
    CabledNodes nodes{std::vector<bool>(nodes_.size()),
                      std::vector<std::vector<std::uint32_t>>(nodes_.size())};
    for (std::uint32_t n = 0; n < nodes_.size(); ++n)
      nodes.is_host[n] = nodes_[n].node.kind == NodeKind::host;
    for (const auto& link : links_) {
      nodes.neighbours[link.a.node].push_back(link.b.node);
      nodes.neighbours[link.b.node].push_back(link.a.node);
    }
    const auto levels = tree_levels(nodes);
    for (std::uint32_t n = 0; n < nodes_.size(); ++n)
      if (!nodes_[n].has_tier && levels[n] > 0) nodes_[n].node.tier = tier_of_level(levels[n]);
    return {};
  }

  Result<void> add_nodes() {
    for (auto& entry : nodes_) {
      const auto id = builder_.add_node(std::move(entry.node));  // ids are the indices of nodes_
      if (!id) return entry.where.error("{}", id.error().message);
      for (const PortNumber number : entry.ports)
        if (const auto port = builder_.add_port(*id, number, take_guid(entry, number)); !port)
          return entry.where.error("{}", port.error().message);
      while (!entry.port_guids.empty()) {
        const PortNumber number = entry.port_guids.begin()->first;
        WEFT_CHECK(builder_.add_port(*id, number, take_guid(entry, number)).has_value());
      }
      WEFT_TRY_VOID(name_ports(*id, entry));
    }
    return {};
  }

  Result<void> name_ports(NodeId id, NodeEntry& entry) {
    for (auto& [number, name] : entry.port_names) {
      auto port = builder_.find_port(id, number);
      if (!port) port = *builder_.add_port(id, number);
      if (const auto named = builder_.name_port(*port, std::move(name)); !named)
        return entry.where.error("{}", named.error().message);
    }
    return {};
  }

  static std::optional<Guid> take_guid(NodeEntry& entry, PortNumber number) {
    const auto found = entry.port_guids.extract(number);
    return found ? std::optional(found.mapped()) : std::nullopt;
  }

  Result<void> add_numbered_port(const End& end, YamlView where) {
    if (!end.port || builder_.find_port(NodeId(end.node), *end.port)) return {};
    const auto port = builder_.add_port(NodeId(end.node), *end.port);
    return port ? Result<void>() : where.error("{}", port.error().message);
  }

  Result<PortId> port_of(const End& end, YamlView where) {
    if (end.port) return *builder_.find_port(NodeId(end.node), *end.port);
    if (const auto named = builder_.find_port(NodeId(end.node), end.name); named && !end.name.empty())
      return *named;
    if (builder_.find_port(NodeId(end.node), PortNumber(std::numeric_limits<std::uint16_t>::max())))
      return where.error("node '{}' has no port number left", builder_.node(NodeId(end.node)).name);
    const PortId next = builder_.add_next_port(NodeId(end.node));
    if (end.name.empty()) return next;
    const auto named = builder_.name_port(next, end.name);
    return named ? Result<PortId>(next) : where.error("{}", named.error().message);
  }

  Result<void> add_links() {
    for (const auto& link : links_)
      for (const End& end : {link.a, link.b}) WEFT_TRY_VOID(add_numbered_port(end, link.where));
    for (const auto& link : links_) {
      WEFT_TRY(const auto a, port_of(link.a, link.where));
      WEFT_TRY(const auto b, port_of(link.b, link.where));
      if (const auto id = builder_.add_link(a, b, link.rate); !id)
        return link.where.error("{}", id.error().message);
    }
    return {};
  }

  FabricBuilder builder_;
  std::vector<NodeEntry> nodes_;
  std::vector<LinkEntry> links_;
  std::vector<std::string> guests_;
  std::set<Guid> node_guids_, port_guids_;
  std::unordered_map<std::string, std::uint32_t> index_;
};

}  // namespace

Result<ExplicitFabric> read_explicit_fabric(std::string name, FabricKind kind, YamlView nodes,
                                            YamlView links) {
  return ExplicitReader(std::move(name), kind).read(nodes, links);
}

}  // namespace weft::files
