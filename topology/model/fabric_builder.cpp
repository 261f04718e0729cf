#include "topology/model/fabric_builder.hpp"

#include <algorithm>
#include <unordered_map>

#include "topology/base/check.hpp"

namespace weft {
namespace {

constexpr std::size_t kMaxNameLength = 64;

bool is_name(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == ':' || c == '-';
  };
  return !name.empty() && name.size() <= kMaxNameLength && name.front() != '-' &&
         std::all_of(name.begin(), name.end(), allowed) && name.find("--") == std::string_view::npos;
}

}  // namespace

FabricBuilder::FabricBuilder(std::string name, FabricKind kind) {
  fabric_.name_ = std::move(name);
  fabric_.kind_ = kind;
}

Result<NodeId> FabricBuilder::add_node(Node node) {
  if (!is_name(node.name))
    return fail(
        ErrorKind::invalid_input,
        "node name '{}' cannot be used: expected 1 to {} letters, digits, '.', '_', ':' or single '-'",
        node.name, kMaxNameLength);
  const NodeId id(static_cast<std::uint32_t>(fabric_.nodes_.size()));
  if (!fabric_.by_name_.emplace(node.name, id).second)
    return fail(ErrorKind::invalid_input, "node '{}' stands twice", node.name);
  if (node.kind == NodeKind::host) fabric_.hosts_.push_back(id);
  fabric_.nodes_.push_back(std::move(node));
  fabric_.ports_of_.emplace_back();
  return id;
}

Result<PortId> FabricBuilder::add_port(NodeId node, PortNumber number, std::optional<Guid> guid) {
  WEFT_CHECK(node.value() < fabric_.nodes_.size());
  if (find_port(node, number))
    return fail(ErrorKind::invalid_input, "port {}/p{} stands twice", this->node(node).name, number.value());
  const PortId id(static_cast<std::uint32_t>(fabric_.ports_.size()));
  fabric_.ports_.push_back(Port{.node = node, .number = number, .guid = guid});
  auto& ports = fabric_.ports_of_[node.value()];
  const auto after = [this](PortNumber n, PortId p) { return n < fabric_.port(p).number; };
  ports.insert(std::upper_bound(ports.begin(), ports.end(), number, after), id);
  return id;
}

Result<void> FabricBuilder::name_port(PortId id, std::string name) {
  Port& port = fabric_.ports_[id.value()];
  const std::string& owner = node(port.node).name;
  if (!is_port_name(name))
    return fail(
        ErrorKind::invalid_input,
        "port name '{}' of {} cannot be used: expected 1 to 64 letters, digits, '.', '_', ':', '/' or "
        "single '-', as in Ethernet1/6, and neither a number alone nor pN",
        name, owner);
  const auto [at, is_new] = named_.emplace(std::pair(port.node, name), id);
  if (!is_new && at->second != id)
    return fail(ErrorKind::invalid_input, "two ports of {} are called {}", owner, name);
  port.name = std::move(name);
  return {};
}

PortId FabricBuilder::add_next_port(NodeId node) {
  WEFT_CHECK(node.value() < fabric_.nodes_.size());
  const auto& ports = fabric_.ports_of_[node.value()];
  const std::uint16_t highest = ports.empty() ? 0 : fabric_.port(ports.back()).number.value();
  return *add_port(node, PortNumber(static_cast<std::uint16_t>(highest + 1)));
}

Result<LinkId> FabricBuilder::add_link(PortId a, PortId b, Bandwidth rate) {
  const auto name = [this](PortId p) { return fabric_.name_of(p); };
  for (const PortId end : {a, b})
    if (fabric_.port(end).link) return fail(ErrorKind::invalid_input, "port {} has two cables", name(end));
  if (fabric_.port(a).node == fabric_.port(b).node)
    return fail(ErrorKind::invalid_input, "link {}--{} joins a node to itself", name(a), name(b));
  if (rate <= Bandwidth())
    return fail(ErrorKind::invalid_input, "link {}--{} has no rate above zero", name(a), name(b));
  const LinkId id(static_cast<std::uint32_t>(fabric_.links_.size()));
  fabric_.links_.push_back(Link{a, b, rate});
  fabric_.ports_[a.value()].link = id;
  fabric_.ports_[b.value()].link = id;
  return id;
}

LinkId FabricBuilder::connect(NodeId a, NodeId b, Bandwidth rate) {
  const PortId near = add_next_port(a);
  const PortId far = add_next_port(b);
  const auto link = add_link(near, far, rate);
  WEFT_CHECK(link.has_value());
  return *link;
}

std::optional<NodeId> FabricBuilder::find_node(std::string_view name) const {
  const auto found = fabric_.by_name_.find(std::string(name));
  return found == fabric_.by_name_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<PortId> FabricBuilder::find_port(NodeId node, PortNumber number) const {
  const auto& ports = fabric_.ports_of_[node.value()];
  const auto before = [this](PortId p, PortNumber n) { return fabric_.port(p).number < n; };
  const auto at = std::lower_bound(ports.begin(), ports.end(), number, before);
  return at != ports.end() && fabric_.port(*at).number == number ? std::optional(*at) : std::nullopt;
}

std::optional<PortId> FabricBuilder::find_port(NodeId node, std::string_view name) const {
  const auto found = named_.find(std::pair(node, std::string(name)));
  return found == named_.end() ? std::nullopt : std::optional(found->second);
}

Fabric FabricBuilder::build() && {
  for (const NodeId host : fabric_.hosts_)
    for (const PortId port : fabric_.ports_of(host))
      if (fabric_.port(port).link) fabric_.nics_.push_back(port);
  for (const auto& ports : fabric_.ports_of_) {
    auto& leaving = fabric_.channels_from_.emplace_back();
    for (const PortId port : ports)
      if (const auto channel = fabric_.channel_from(port)) leaving.push_back(*channel);
  }
  std::unordered_map<std::uint64_t, std::uint32_t> joined;
  const auto key = [this](const Link& link) {
    const std::uint64_t one = fabric_.port(link.a).node.value();
    const std::uint64_t other = fabric_.port(link.b).node.value();
    return std::min(one, other) << 32 | std::max(one, other);
  };
  for (const Link& link : fabric_.links_) ++joined[key(link)];
  for (const Link& link : fabric_.links_) fabric_.shares_nodes_.push_back(joined[key(link)] > 1);
  return std::move(fabric_);
}

}  // namespace weft
