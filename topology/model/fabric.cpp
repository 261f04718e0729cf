#include "topology/model/fabric.hpp"

#include <algorithm>
#include <charconv>

namespace weft {

std::span<const PortId> Fabric::ports_of(NodeId node) const { return ports_of_[node.value()]; }

std::optional<ChannelId> Fabric::channel_from(PortId id) const {
  const auto& link_id = port(id).link;
  if (!link_id) return std::nullopt;
  return link(*link_id).a == id ? a_to_b(*link_id) : b_to_a(*link_id);
}

std::span<const ChannelId> Fabric::channels_from(NodeId node) const { return channels_from_[node.value()]; }

std::vector<ChannelId> Fabric::channels_at(NodeId node) const {
  std::vector<ChannelId> all;
  for (const ChannelId leaving : channels_from(node)) all.insert(all.end(), {leaving, reverse(leaving)});
  return all;
}

std::optional<ChannelId> Fabric::channel_into(PortId id) const {
  const auto leaving = channel_from(id);
  return leaving ? std::optional(reverse(*leaving)) : std::nullopt;
}

PortId Fabric::source(ChannelId channel) const {
  const Link& l = link(link_of(channel));
  return channel.value() % 2 == 0 ? l.a : l.b;
}

PortId Fabric::target(ChannelId channel) const { return source(reverse(channel)); }

bool Fabric::between_switches(LinkId id) const {
  return !is_host(port(link(id).a).node) && !is_host(port(link(id).b).node);
}

std::string Fabric::name_of(LinkId id) const {
  const Port& a = port(link(id).a);
  const Port& b = port(link(id).b);
  if (!is_bundle_member(id)) return fmt::format("{}--{}", node(a.node).name, node(b.node).name);
  return fmt::format("{}--{}", name_of(link(id).a), name_of(link(id).b));
}

std::string Fabric::name_of(ChannelId id) const {
  const Port& from = port(source(id));
  const Port& to = port(target(id));
  if (!is_bundle_member(link_of(id))) return fmt::format("{}->{}", node(from.node).name, node(to.node).name);
  return fmt::format("{}->{}", name_of(source(id)), name_of(target(id)));
}

std::string Fabric::name_of_nic(PortId id) const {
  const Port& p = port(id);
  if (ports_of(p.node).size() == 1) return node(p.node).name;
  return name_of(id);
}

std::string Fabric::name_of(PortId id) const {
  const Port& p = port(id);
  if (p.name.empty()) return fmt::format("{}/p{}", node(p.node).name, p.number.value());
  return fmt::format("{}/{}", node(p.node).name, p.name);
}

Result<NodeId> Fabric::find_node(std::string_view name) const {
  const auto found = by_name_.find(std::string(name));
  if (found == by_name_.end()) return fail(ErrorKind::not_found, "fabric {} has no node '{}'", name_, name);
  return found->second;
}

Result<PortId> Fabric::find_port(std::string_view name) const {
  const auto parts = split_port(name);
  if (!parts || !parts->names_port())
    return fail(ErrorKind::invalid_input, "'{}' is no port: expected NODE/pN, as in leaf1/p3", name);
  WEFT_TRY(const auto owner, find_node(parts->node));
  for (const PortId candidate : ports_of(owner))
    if (parts->fits(port(candidate))) return candidate;
  return fail(ErrorKind::not_found, "{} has no port {}; it has {}", parts->node,
              name.substr(parts->node.size() + 1), ports_of(owner).size());
}

std::vector<LinkId> Fabric::links_between(NodeId a, NodeId b) const {
  std::vector<LinkId> found;
  for (const ChannelId leaving : channels_from(a))
    if (target_node(leaving) == b) found.push_back(link_of(leaving));
  return found;
}

Result<LinkId> Fabric::find_between(std::string_view whole, std::string_view a, std::string_view b) const {
  const auto first = split_port(a);
  const auto second = split_port(b);
  if (!first || !second)
    return fail(ErrorKind::invalid_input,
                "'{}' is no link: expected NODE--NODE or NODE/pN--NODE/pN, as in leaf1--spine2", whole);
  const auto from = find_node(first->node);
  if (!from) return pass_on(from, fmt::format("link '{}'", whole));
  const auto to = find_node(second->node);
  if (!to) return pass_on(to, fmt::format("link '{}'", whole));
  auto candidates = links_between(*from, *to);
  const auto has_other_port = [&](LinkId id) {
    const bool in_order = port(link(id).a).node == *from;
    return !first->fits(port(in_order ? link(id).a : link(id).b)) ||
           !second->fits(port(in_order ? link(id).b : link(id).a));
  };
  std::erase_if(candidates, has_other_port);
  if (candidates.empty()) return fail(ErrorKind::not_found, "fabric {} has no link '{}'", name_, whole);
  if (candidates.size() > 1)
    return fail(ErrorKind::invalid_input, "'{}' names {} parallel links: give the ports, as in {}", whole,
                candidates.size(), name_of(candidates.front()));
  return candidates.front();
}

Result<LinkId> Fabric::find_link(std::string_view name) const {
  const auto middle = name.find("--");
  if (middle == std::string_view::npos)
    return fail(ErrorKind::invalid_input, "'{}' is no link: expected NODE--NODE, as in leaf1--spine2", name);
  return find_between(name, name.substr(0, middle), name.substr(middle + 2));
}

Result<ChannelId> Fabric::find_channel(std::string_view name) const {
  const auto middle = name.find("->");
  if (middle == std::string_view::npos)
    return fail(ErrorKind::invalid_input, "'{}' is no channel: expected NODE->NODE, as in leaf1->spine2",
                name);
  WEFT_TRY(const auto found, find_between(name, name.substr(0, middle), name.substr(middle + 2)));
  const auto from = split_port(name.substr(0, middle))->node;
  return node(source_node(a_to_b(found))).name == from ? a_to_b(found) : b_to_a(found);
}

Result<PortId> Fabric::find_nic(std::string_view name) const {
  const auto parts = split_port(name);
  if (!parts)
    return fail(ErrorKind::invalid_input, "'{}' is no NIC: expected HOST or HOST/pN, as in host1/p2", name);
  WEFT_TRY(const auto owner, find_node(parts->node));
  if (!is_host(owner)) return fail(ErrorKind::invalid_input, "'{}' is a switch: expected a host", name);
  for (const PortId candidate : ports_of(owner))
    if (port(candidate).link && parts->fits(port(candidate))) return candidate;
  return fail(ErrorKind::not_found, "host '{}' has no such NIC with a cable: '{}'", parts->node, name);
}

std::string_view to_string(FabricKind kind) {
  switch (kind) {
    case FabricKind::roce:
      return "roce";
    case FabricKind::infiniband:
      return "infiniband";
  }
  return "";
}

std::string_view to_string(Tier tier) {
  switch (tier) {
    case Tier::host:
      return "host";
    case Tier::leaf:
      return "leaf";
    case Tier::spine:
      return "spine";
    case Tier::core:
      return "core";
    case Tier::tier4:
      return "tier4";
    case Tier::tier5:
      return "tier5";
    case Tier::tier6:
      return "tier6";
  }
  return "";
}

bool is_port_name(std::string_view name) {
  constexpr std::size_t kMaxLength = 64;  // as of nodes
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto allowed = [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) ||
           std::string_view("._:/-").find(c) != std::string_view::npos;
  };
  if (name.empty() || name.size() > kMaxLength || name.front() == '-' || name.back() == '-') return false;
  const auto after_p = name.substr(name.front() == 'p' ? 1 : 0);
  return std::ranges::all_of(name, allowed) && !std::ranges::all_of(after_p, is_digit) &&
         name.find("--") == std::string_view::npos;
}

std::optional<PortName> split_port(std::string_view name) {
  const auto slash = name.find('/');
  if (slash == std::string_view::npos) return PortName{.node = name};
  const auto node = name.substr(0, slash);
  const auto tail = name.substr(slash + 1);
  if (is_port_name(tail)) return PortName{.node = node, .name = tail};
  std::uint16_t number = 0;
  if (tail.size() < 2 || tail.front() != 'p') return std::nullopt;
  const auto [end, error] = std::from_chars(tail.data() + 1, tail.data() + tail.size(), number);
  if (error != std::errc{} || end != tail.data() + tail.size()) return std::nullopt;
  return PortName{.node = node, .port = PortNumber(number)};
}

}  // namespace weft
