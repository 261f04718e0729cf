#include "probes/discover/identity.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "topology/model/fabric.hpp"
#include "topology/model/ib_names.hpp"

namespace weft::discover {
namespace {

constexpr std::size_t kLongNames = 46;  // from here on same_name() compares beginnings

class Identification {
 public:
  Identification(const Fabric& expected, const Fabric& found)
      : expected_(expected), found_(found), expected_of_(found.node_count()) {
    result_.found_switch.resize(expected.node_count());
    result_.found_nic.resize(expected.port_count());
    result_.is_there.resize(expected.node_count());
    result_.node_of_port.resize(found.port_count());
    result_.nic_of_port.resize(found.port_count());
  }

  Identities run() && {
    by_guid();
    nics_by_guid();
    by_name();
    switches_by_cables();
    hosts_by_cables();
    return std::move(result_);
  }

 private:
  void join(NodeId wanted, NodeId there) {
    expected_of_[there.value()] = wanted;
    result_.is_there[wanted.value()] = true;
    if (!expected_.is_host(wanted)) result_.found_switch[wanted.value()] = there;
    for (const PortId port : found_.ports_of(there))
      if (!result_.node_of_port[port.value()]) result_.node_of_port[port.value()] = wanted;
  }

  bool same_kind(NodeId wanted, NodeId there) const {
    return expected_.is_host(wanted) == found_.is_host(there);
  }

  void by_guid() {
    std::unordered_map<Guid, NodeId> there;
    for (std::uint32_t n = 0; n < found_.node_count(); ++n)
      if (const auto& guid = found_.node(NodeId(n)).guid) there.emplace(*guid, NodeId(n));
    for (std::uint32_t n = 0; n < expected_.node_count(); ++n) {
      const auto& guid = expected_.node(NodeId(n)).guid;
      const auto same = guid ? there.find(*guid) : there.end();
      if (same != there.end() && same_kind(NodeId(n), same->second)) join(NodeId(n), same->second);
    }
  }

  /// Of a host each by itself: its adapters may no longer have one name, and be several hosts by that.
  void nics_by_guid() {
    std::unordered_map<Guid, PortId> there;
    for (const PortId nic : found_.nics())
      if (const auto& guid = found_.port(nic).guid) there.emplace(*guid, nic);
    for (const PortId nic : expected_.nics()) {
      const auto& guid = expected_.port(nic).guid;
      const auto same = guid ? there.find(*guid) : there.end();
      if (same == there.end()) continue;
      const NodeId host = expected_.port(nic).node;
      result_.found_nic[nic.value()] = same->second;
      result_.nic_of_port[same->second.value()] = nic;
      result_.node_of_port[same->second.value()] = host;
      result_.is_there[host.value()] = true;
      auto& owner = expected_of_[found_.port(same->second).node.value()];
      if (!owner) join(host, found_.port(same->second).node);
    }
  }

  void by_name() {
    for (std::uint32_t n = 0; n < expected_.node_count(); ++n) {
      const NodeId wanted(n);
      const auto same = found_named(expected_.name_of(wanted));
      if (same && !expected_of_[same->value()] && same_kind(wanted, *same) &&
          (expected_.is_host(wanted) || !result_.is_there[n]))
        join(wanted, *same);
    }
  }

  /// A name too long for a description is known by what of it is the only one of its kind.
  std::optional<NodeId> found_named(const std::string& name) const {
    if (const auto same = found_.find_node(name)) return *same;
    if (name.size() < kLongNames) return std::nullopt;
    std::optional<NodeId> only;
    for (std::uint32_t n = 0; n < found_.node_count(); ++n)
      if (same_name(name, found_.name_of(NodeId(n))) && std::exchange(only, NodeId(n))) return std::nullopt;
    return only;
  }

  /// Where most cables of a switch that should be there end at one that nobody named and nobody knows.
  void switches_by_cables() {
    for (std::uint32_t n = 0; n < expected_.node_count(); ++n) {
      const NodeId wanted(n);
      if (expected_.is_host(wanted) || result_.is_there[n]) continue;
      std::map<NodeId, std::size_t> votes;
      for (const PortId port : expected_.ports_of(wanted))
        if (const auto end = found_at_end_of(port)) ++votes[*end];
      for (const auto& [there, count] : votes)
        if (count * 2 > expected_.ports_of(wanted).size()) join(wanted, there);
    }
  }

  /// The unknown switch at the cable that should come from this port of a switch.
  std::optional<NodeId> found_at_end_of(PortId port) const {
    const auto out = expected_.channel_from(port);
    const auto far = out ? found_port(expected_.target(*out)) : std::nullopt;
    const auto back = far ? found_.channel_from(*far) : std::nullopt;
    if (!back) return std::nullopt;
    const NodeId end = found_.target_node(*back);
    const bool is_free =
        !found_.is_host(end) && !expected_of_[end.value()] && is_unnamed(found_.name_of(end));
    return is_free ? std::optional(end) : std::nullopt;
  }

  /// An expected port among the found ones: of a known NIC, or by its number on a known switch.
  std::optional<PortId> found_port(PortId port) const {
    const Port& wanted = expected_.port(port);
    if (expected_.is_host(wanted.node)) return result_.found_nic[port.value()];
    const auto& there = result_.found_switch[wanted.node.value()];
    if (!there) return std::nullopt;
    for (const PortId one : found_.ports_of(*there))
      if (found_.port(one).number == wanted.number) return one;
    return std::nullopt;
  }

  /// A host's NIC that nobody named, at the very port of the switch where one is missing.
  void hosts_by_cables() {
    for (const PortId nic : expected_.nics()) {
      if (result_.found_nic[nic.value()]) continue;
      const auto at = found_port(expected_.target(*expected_.channel_from(nic)));
      const auto cable = at ? found_.channel_from(*at) : std::nullopt;
      if (!cable) continue;
      const PortId there = found_.target(*cable);
      const NodeId host = found_.port(there).node;
      if (result_.node_of_port[there.value()] || !found_.is_host(host) || !is_unnamed(found_.name_of(host)))
        continue;
      result_.node_of_port[there.value()] = expected_.port(nic).node;
      result_.is_there[expected_.port(nic).node.value()] = true;
    }
  }

  const Fabric& expected_;
  const Fabric& found_;
  std::vector<std::optional<NodeId>> expected_of_;  // by found node; a host: of its first known
  Identities result_;
};

}  // namespace

Identities identify(const Fabric& expected, const Fabric& found) {
  return Identification(expected, found).run();
}

}  // namespace weft::discover
