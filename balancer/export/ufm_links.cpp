#include "balancer/export/ufm_links.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace weft::exports {

namespace {

/// What is at another port than the file has it is no way that the file knows.
SwitchWays::Links inactive_links(const Fabric& fabric, const UfmCables& cables) {
  SwitchWays::Links inactive(fabric.link_count());
  for (std::uint32_t i = 0; i < fabric.link_count(); ++i)
    inactive[i] = cables.seen(LinkId(i)).state != UfmCables::State::up || !cables.check_cable(LinkId(i));
  return inactive;
}

}  // namespace

UfmCables::UfmCables(const Fabric& fabric, UfmPorts ports, UnhealthyPorts unhealthy)
    : fabric_(fabric),
      ports_(std::move(ports)),
      unhealthy_(std::move(unhealthy)),
      guid_of_(fabric.node_count()) {
  std::map<std::string, std::set<Guid>> named;
  for (const auto& [id, port] : ports_) named[port.system].insert(id.guid);
  for (std::uint32_t n = 0; n < fabric.node_count(); ++n) {
    const Node& node = fabric.node(NodeId(n));
    if (node.kind == NodeKind::host) continue;
    guid_of_[n] = node.guid;
    // A file without GUIDs: by the name, where UFM has one switch of that name.
    if (const auto at = named.find(node.name); !node.guid && at != named.end() && at->second.size() == 1)
      guid_of_[n] = *at->second.begin();
    if (guid_of_[n]) switches_.emplace(*guid_of_[n], NodeId(n));
  }
}

std::size_t UfmCables::count_isolated() const {
  std::set<std::pair<UfmPortId, UfmPortId>> cables;
  for (const auto& [id, port] : unhealthy_) {
    const auto peer = port.peer.value_or(id);
    if (port.is_manual()) cables.insert({std::min(id, peer), std::max(id, peer)});
  }
  return cables.size();
}

std::vector<bool> UfmCables::with_hosts() const {
  std::vector<bool> kept(fabric_.node_count(), false);
  // The subnet manager and UFM may run on hosts that the file does not have: at whatever switch there is
  // another port than that of a switch of the file.
  for (const auto& [id, port] : ports_)
    if (const auto at = switches_.find(id.guid);
        at != switches_.end() && port.is_active && port.peer && !switches_.contains(port.peer->guid))
      kept[at->second.value()] = true;
  for (const PortId nic : fabric_.nics())
    if (const auto channel = fabric_.channel_from(nic);
        channel && !fabric_.is_host(fabric_.target_node(*channel)))
      kept[fabric_.target_node(*channel).value()] = true;
  return kept;
}

const std::vector<std::string>& UfmCables::conditions_at(const UfmPortId& port) const {
  return unhealthy_.at(port).conditions;
}

std::optional<UfmPortId> UfmCables::id_of(PortId port) const {
  const Port& its = fabric_.port(port);
  const auto guid = guid_of_[its.node.value()];
  return guid ? std::optional(UfmPortId{*guid, its.number}) : std::nullopt;
}

const UfmPort* UfmCables::port_at(const UfmPortId& id) const {
  const auto at = ports_.find(id);
  return at != ports_.end() ? &at->second : nullptr;
}

std::vector<UfmEnd> UfmCables::ends_of(LinkId link) const {
  const Link& its = fabric_.link(link);
  std::vector<UfmEnd> ends;
  std::vector<PortId> of_hosts;
  for (const PortId port : {its.a, its.b}) {
    if (fabric_.is_host(fabric_.port(port).node))
      of_hosts.push_back(port);
    else if (const auto id = id_of(port))
      ends.push_back({*id, fabric_.name_of(port)});
  }
  if (of_hosts.size() != 1 || ends.size() != 1) return ends;
  const UfmPort* at = port_at(ends.front().id);
  if (at && at->peer) ends.push_back({*at->peer, fabric_.name_of(of_hosts.front())});
  return ends;
}

UfmCables::Seen UfmCables::seen(LinkId link) const {
  const auto ends = ends_of(link);
  Seen seen{State::up, "up", {}};
  std::string reported;
  for (const UfmEnd& end : ends) {
    const auto listed = unhealthy_.find(end.id);
    if (listed == unhealthy_.end()) continue;
    if (listed->second.is_manual())
      seen.isolated.push_back(end);
    else if (reported.empty())
      reported = fmt::format("UFM itself lists {} as unhealthy ({})", end.name,
                             fmt::join(listed->second.conditions, ", "));
  }
  if (!seen.isolated.empty()) {
    seen.state = State::isolated;
    seen.text = isolated_at(seen.isolated.front().id);
    return seen;
  }
  if (!reported.empty()) return {State::reported, reported, {}};
  const Link& its = fabric_.link(link);
  for (const PortId port : {its.a, its.b}) {
    if (fabric_.is_host(fabric_.port(port).node)) continue;
    const auto id = id_of(port);
    const UfmPort* at = id ? port_at(*id) : nullptr;
    if (!at) return {State::unknown, fmt::format("UFM has no port {}", fabric_.name_of(port)), {}};
    if (!at->is_active) seen = {State::down, "down", {}};
  }
  return seen;
}

bool UfmCables::isolated_elsewhere(LinkId link, const UfmPortId& port) const {
  const auto listed = unhealthy_.find(port);
  const auto ends = ends_of(link);
  return listed != unhealthy_.end() && listed->second.is_manual() &&
         std::ranges::find(ends, port, &UfmEnd::id) == ends.end();
}

/// By what UFM calls it.
bool UfmCables::is_of_another_host(const UfmPortId& port, NodeId host) const {
  const UfmPort* at = port_at(port);
  if (!at) return false;
  const auto named = fabric_.find_node(at->system);
  return named && *named != host && fabric_.is_host(*named);
}

/// Another cable would be isolated.
Result<void> UfmCables::check_cable(LinkId link) const {
  const Link& its = fabric_.link(link);
  for (const PortId port : {its.a, its.b}) {
    if (fabric_.is_host(fabric_.port(port).node)) continue;
    const PortId far = port == its.a ? its.b : its.a;
    const auto id = id_of(port);
    const UfmPort* at = id ? port_at(*id) : nullptr;
    const auto peer = at ? at->peer : std::nullopt;
    bool fits = peer.has_value();
    if (fits && !fabric_.is_host(fabric_.port(far).node)) {
      fits = *peer == id_of(far);
    } else if (fits) {
      const Port& nic = fabric_.port(far);
      const auto node = fabric_.node(nic.node).guid;
      // Of a host UFM names the GUID of the port; a file may know that of the adapter alone, or none.
      fits = nic.guid ? peer->guid == *nic.guid || peer->guid == node
                      : !switches_.contains(peer->guid) && !is_of_another_host(*peer, nic.node);
    }
    if (!fits)
      return fail(ErrorKind::conflict,
                  "its cable is not at {}, where the fabric file has it: UFM sees {} there (weft topology "
                  "check)",
                  fabric_.name_of(port), peer ? to_string(*peer) : "none");
  }
  return {};
}

UfmLinks::UfmLinks(const Fabric& fabric, UfmPorts ports, UnhealthyPorts unhealthy, std::size_t max_isolated)
    : fabric_(fabric),
      cables_(fabric, std::move(ports), std::move(unhealthy)),
      max_isolated_(max_isolated),
      listed_(cables_.count_isolated()),
      isolated_(listed_),
      ways_(fabric, cables_.with_hosts(), inactive_links(fabric, cables_)) {}

/// That its host has another cable, which a subnet manager on it needs too.
Result<void> UfmLinks::check_host(LinkId link) const {
  const Link& its = fabric_.link(link);
  for (const PortId port : {its.a, its.b}) {
    const NodeId node = fabric_.port(port).node;
    if (!fabric_.is_host(node)) continue;
    const auto channels = fabric_.channels_from(node);
    if (!std::ranges::any_of(channels, [&](ChannelId channel) {
          return Fabric::link_of(channel) != link && !ways_.out()[Fabric::link_of(channel).value()];
        }))
      return fail(ErrorKind::conflict,
                  "it is the last cable of {} that is up: take the host out of use by "
                  "its scheduler",
                  fabric_.name_of(node));
  }
  return {};
}

Result<UfmEnd> UfmLinks::end_to_isolate(LinkId link) const {
  const auto now = cables_.seen(link);
  if (now.state != State::up) return fail(ErrorKind::conflict, "it is not up: {}", now.text);
  WEFT_TRY_VOID(cables_.check_cable(link));
  if (const auto lost = fabric_.between_switches(link) ? ways_.lost_without(link) : std::nullopt)
    return fail(ErrorKind::conflict, "it is the last way between {} and {}", fabric_.name_of(lost->first),
                fabric_.name_of(lost->second));
  WEFT_TRY_VOID(check_host(link));
  if (isolated_ >= max_isolated_)
    return fail(ErrorKind::conflict,
                "{} cables are isolated in UFM, by whomever, and --ufm-max-isolated lets {}", isolated_,
                max_isolated_);
  return cables_.ends_of(link).front();
}

Result<UfmEnd> UfmLinks::end_to_heal(LinkId link) const {
  const auto now = cables_.seen(link);
  if (now.isolated.empty()) return fail(ErrorKind::conflict, "it is not isolated, but {}", now.text);
  const UfmEnd& end = now.isolated.front();
  const auto& conditions = cables_.conditions_at(end.id);
  if (std::ranges::count(conditions, "MANUAL") == std::ssize(conditions)) return end;
  return fail(ErrorKind::conflict,
              "UFM itself lists {} as unhealthy too ({}), and would take it for healthy as a whole", end.name,
              fmt::join(conditions, ", "));
}

void UfmLinks::take_out(LinkId link) {
  ways_.take_out(link);
  ++isolated_;
}

void UfmLinks::give_back() { isolated_ -= isolated_ > 0 ? 1 : 0; }

void UfmLinks::restart() {
  ways_.restart();
  isolated_ = listed_;
}

}  // namespace weft::exports
