#include "balancer/blacklist/subject.hpp"

#include <algorithm>
#include <array>

namespace weft::blacklist {
namespace {

constexpr std::array<std::string_view, 5> kKinds{"channel", "link", "nic", "host", "switch"};
constexpr std::array<std::string_view, 2> kNicActions{"host", "rail"};

/// The NIC at the host's end; absent: the link joins two switches.
std::optional<PortId> nic_of(const Fabric& fabric, LinkId link) {
  for (const PortId end : {fabric.link(link).a, fabric.link(link).b})
    if (fabric.is_host(fabric.port(end).node)) return end;
  return std::nullopt;
}

template <class Id>
void keep_each_once(std::vector<Id>& ids) {
  std::ranges::sort(ids);
  const auto rest = std::ranges::unique(ids);
  ids.erase(rest.begin(), rest.end());
}

// By the kind of subject, for std::visit.

SubjectName named(const Fabric& fabric, ChannelId id) { return {SubjectKind::channel, fabric.name_of(id)}; }
SubjectName named(const Fabric& fabric, LinkId id) { return {SubjectKind::link, fabric.name_of(id)}; }
SubjectName named(const Fabric& fabric, PortId id) { return {SubjectKind::nic, fabric.name_of_nic(id)}; }
SubjectName named(const Fabric& fabric, NodeId id) {
  return {fabric.is_host(id) ? SubjectKind::host : SubjectKind::switch_, fabric.name_of(id)};
}

std::vector<ChannelId> channels(const Fabric&, ChannelId id) { return {id}; }
std::vector<ChannelId> channels(const Fabric&, LinkId id) { return {Fabric::a_to_b(id), Fabric::b_to_a(id)}; }
std::vector<ChannelId> channels(const Fabric& fabric, PortId id) {
  return channels(fabric, *fabric.port(id).link);
}
std::vector<ChannelId> channels(const Fabric& fabric, NodeId id) { return fabric.channels_at(id); }

Effect effect(const Fabric& fabric, LinkId link, NicAction action) {
  const auto nic = nic_of(fabric, link);
  if (!nic) return {.links = {link}};
  if (action == NicAction::rail) return {.nics = {*nic}};
  return {.hosts = {fabric.port(*nic).node}};
}

Effect effect(const Fabric& fabric, ChannelId id, NicAction action) {
  return effect(fabric, Fabric::link_of(id), action);
}
Effect effect(const Fabric& fabric, PortId id, NicAction action) {
  return effect(fabric, *fabric.port(id).link, action);
}
Effect effect(const Fabric& fabric, NodeId node, NicAction) {
  if (fabric.is_host(node)) return {.hosts = {node}};
  Effect out;
  for (const ChannelId channel : fabric.channels_from(node)) {
    const LinkId link = Fabric::link_of(channel);
    if (const auto nic = nic_of(fabric, link))
      out.hosts.push_back(fabric.port(*nic).node);
    else
      out.links.push_back(link);
  }
  if (!out.hosts.empty()) out.links.clear();
  keep_each_once(out.links);
  keep_each_once(out.hosts);
  return out;
}

}  // namespace

std::string_view to_string(SubjectKind kind) { return kKinds[static_cast<std::size_t>(kind)]; }

std::optional<SubjectKind> parse_subject_kind(std::string_view text) {
  const auto found = std::ranges::find(kKinds, text);
  if (found == kKinds.end()) return std::nullopt;
  return static_cast<SubjectKind>(found - kKinds.begin());
}

std::string_view to_string(NicAction action) { return kNicActions[static_cast<std::size_t>(action)]; }

std::optional<NicAction> parse_nic_action(std::string_view text) {
  const auto found = std::ranges::find(kNicActions, text);
  if (found == kNicActions.end()) return std::nullopt;
  return static_cast<NicAction>(found - kNicActions.begin());
}

SubjectName name_of(const Fabric& fabric, const Subject& subject) {
  return std::visit([&](auto id) { return named(fabric, id); }, subject);
}

Result<Subject> find_subject(const Fabric& fabric, const SubjectName& name) {
  switch (name.kind) {
    case SubjectKind::channel:
      return fabric.find_channel(name.name);
    case SubjectKind::link:
      return fabric.find_link(name.name);
    case SubjectKind::nic:
      return fabric.find_nic(name.name);
    case SubjectKind::host:
    case SubjectKind::switch_: {
      WEFT_TRY(const auto node, fabric.find_node(name.name));
      if (fabric.is_host(node) != (name.kind == SubjectKind::host))
        return fail(ErrorKind::invalid_input, "{} is a {}, not a {}", name.name,
                    fabric.is_host(node) ? "host" : "switch", to_string(name.kind));
      return node;
    }
  }
  return fail(ErrorKind::internal, "no such kind of subject");
}

Result<Subject> parse_subject(const Fabric& fabric, std::string_view text) {
  if (text.find("->") != std::string_view::npos) return fabric.find_channel(text);
  if (text.find("--") != std::string_view::npos) return fabric.find_link(text);
  if (text.find('/') != std::string_view::npos) return fabric.find_nic(text);
  return fabric.find_node(text);
}

std::vector<ChannelId> channels_of(const Fabric& fabric, const Subject& subject) {
  return std::visit([&](auto id) { return channels(fabric, id); }, subject);
}

std::optional<Subject> covering(const Fabric& fabric, const IncidentPlace& place) {
  if (place.nodes.size() == 1) return place.nodes.front();
  if (place.nodes.size() > 1) return std::nullopt;
  std::vector<ChannelId> channels = place.channels;
  for (const auto& alternative : place.alternatives)
    channels.insert(channels.end(), alternative.begin(), alternative.end());
  if (channels.empty()) return std::nullopt;
  const LinkId link = Fabric::link_of(channels.front());
  if (!std::ranges::all_of(channels, [&](ChannelId c) { return Fabric::link_of(c) == link; }))
    return std::nullopt;
  if (const auto nic = nic_of(fabric, link)) return *nic;
  const bool one_way = std::ranges::all_of(channels, [&](ChannelId c) { return c == channels.front(); });
  return one_way ? Subject(channels.front()) : Subject(link);
}

Effect effect_of(const Fabric& fabric, const Subject& subject, NicAction action) {
  return std::visit([&](auto id) { return effect(fabric, id, action); }, subject);
}

}  // namespace weft::blacklist
