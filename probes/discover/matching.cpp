#include "probes/discover/matching.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "probes/discover/identity.hpp"
#include "topology/base/readable.hpp"
#include "topology/model/fabric.hpp"
#include "topology/model/ib_names.hpp"

namespace weft::discover {
namespace {

constexpr double kCertain = 50;  // nats: seen, not inferred

using NodePair = std::pair<NodeId, NodeId>;  // of the expected fabric
using ByEnds = std::map<NodePair, std::vector<ChannelId>>;

/// The channels between two nodes, in the order of links; `node_of` a port: absent where it is nobody's.
template <class NodeOf>
ByEnds by_ends(const Fabric& fabric, NodeOf node_of) {
  ByEnds channels;
  for (std::uint32_t c = 0; c < fabric.channel_count(); ++c) {
    const ChannelId id(c);
    const auto from = node_of(fabric.source(id));
    const auto to = node_of(fabric.target(id));
    if (from && to) channels[{*from, *to}].push_back(id);
  }
  return channels;
}

/// Puts channels that were found in the places of those that should be there.
class Placement {
 public:
  Placement(const Fabric& expected, const Fabric& found, const Identities& who)
      : expected_(expected), found_(found), who_(who) {}

  /// By the NICs that are known, then by the ports, those left in order.
  std::vector<std::optional<ChannelId>> place(const std::vector<ChannelId>& wanted,
                                              std::vector<ChannelId> there) const {
    std::vector<std::optional<ChannelId>> placed(wanted.size());
    const auto place_those = [&](auto same) {
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (placed[i]) continue;
        const auto it = std::ranges::find_if(there, [&](ChannelId one) { return same(wanted[i], one); });
        if (it == there.end()) continue;
        placed[i] = *it;
        there.erase(it);
      }
    };
    place_those([this](ChannelId a, ChannelId b) { return is_known(a) && fits(a, b); });
    place_those([this](ChannelId a, ChannelId b) { return fits(a, b) && same_switch_ports(a, b); });
    place_those([this](ChannelId a, ChannelId b) { return fits(a, b); });
    return placed;
  }

 private:
  /// At one end of an expected channel is a NIC that was found by its GUID.
  bool is_known(ChannelId wanted) const {
    return who_.found_nic[expected_.source(wanted).value()] ||
           who_.found_nic[expected_.target(wanted).value()];
  }
  bool fits(ChannelId wanted, ChannelId there) const {
    return fits(expected_.source(wanted), found_.source(there)) &&
           fits(expected_.target(wanted), found_.target(there));
  }
  /// Not where one of the two is known to be another's.
  bool fits(PortId wanted, PortId there) const {
    const auto& known = who_.found_nic[wanted.value()];
    const auto& owner = who_.nic_of_port[there.value()];
    return known || owner ? known == there : true;
  }
  /// A switch calls its ports by the numbers on its front; the NICs of a host are counted as far as they were
  /// reached, so that another may be the first.
  bool same_switch_ports(ChannelId wanted, ChannelId there) const {
    const auto same = [&](PortId a, PortId b) {
      return expected_.is_host(expected_.port(a).node) || expected_.port(a).number == found_.port(b).number;
    };
    return same(expected_.source(wanted), found_.source(there)) &&
           same(expected_.target(wanted), found_.target(there));
  }

  const Fabric& expected_;
  const Fabric& found_;
  const Identities& who_;
};

std::string guid_text(Guid guid) { return fmt::format("0x{:016x}", guid.value()); }

/// What is another than the file says, and no fault.
class Remarks {
 public:
  Remarks(const Fabric& expected, const Fabric& found, const Identities& who, const FabricMatch& match)
      : expected_(expected), found_(found), who_(who), match_(match) {}

  std::vector<MatchRemark> run() && {
    for (std::uint32_t n = 0; n < expected_.node_count(); ++n) {
      const NodeId node(n);
      if (!expected_.is_host(node)) {
        if (const auto& there = who_.found_switch[n])
          compare(expected_.name_of(node), expected_.node(node).guid, found_.node(*there).guid, node, *there);
        continue;
      }
      const auto nics = expected_.ports_of(node);
      is_renamed_ = false;
      for (const PortId nic : nics)
        if (const auto& there = match_.found_nic[nic.value()]) compare_nic(nic, *there, nics.size() == 1);
    }
    return std::move(remarks_);
  }

 private:
  /// A file may have the GUID of the host alone: of its first adapter.
  void compare_nic(PortId nic, PortId there, bool is_only) {
    const NodeId host = expected_.port(nic).node;
    const NodeId found_host = found_.port(there).node;
    const bool by_host = !expected_.port(nic).guid && is_only;
    compare(expected_.name_of_nic(nic), by_host ? expected_.node(host).guid : expected_.port(nic).guid,
            by_host ? found_.node(found_host).guid : found_.port(there).guid, host, found_host);
  }

  void compare(const std::string& where, const std::optional<Guid>& should, const std::optional<Guid>& is,
               NodeId node, NodeId there) {
    const auto& name = expected_.name_of(node);
    const auto& found_name = found_.name_of(there);
    // A GUID stands for a description that was not read.
    const bool other_name = !found_name.starts_with("0x") && !same_name(name, found_name);
    if (should && is && *should != *is)
      return remarks_.push_back({MatchRemark::Kind::replaced, where, guid_text(*should),
                                 guid_text(*is) + (other_name ? ", named " + found_name : "")});
    if (!other_name || (expected_.is_host(node) && std::exchange(is_renamed_, true))) return;
    remarks_.push_back({MatchRemark::Kind::renamed, name, name, found_name});
  }

  const Fabric& expected_;
  const Fabric& found_;
  const Identities& who_;
  const FabricMatch& match_;
  bool is_renamed_ = false;  // the host in hand
  std::vector<MatchRemark> remarks_;
};

std::string shape_of(const IbPort& port) {
  return port.width && port.speed ? fmt::format(" ({}{})", to_string(*port.width), to_string(*port.speed))
                                  : "";
}

}  // namespace

std::string_view to_string(MatchRemark::Kind kind) {
  switch (kind) {
    case MatchRemark::Kind::renamed:
      return "renamed";
    case MatchRemark::Kind::replaced:
      return "replaced";
  }
  return "";
}

std::string to_string(const MatchRemark& remark) {
  const bool by_guid = remark.kind == MatchRemark::Kind::replaced;
  return fmt::format("{}: {}{} is now {}", to_string(remark.kind), remark.where,
                     by_guid ? fmt::format(" ({})", remark.should) : "", remark.is);
}

FabricMatch match_fabrics(const Fabric& expected, const Fabric& found) {
  const Identities who = identify(expected, found);
  FabricMatch match{.is_there = who.is_there, .node_of_port = who.node_of_port};
  match.found.resize(expected.channel_count());
  match.expected.resize(found.channel_count());
  match.found_nic.resize(expected.port_count());
  const auto there = by_ends(found, [&](PortId port) { return who.node_of_port[port.value()]; });
  const Placement placement(expected, found, who);
  for (const auto& [ends, wanted] :
       by_ends(expected, [&](PortId port) { return std::optional(expected.port(port).node); })) {
    const auto same = there.find(ends);
    if (same == there.end()) continue;
    const auto placed = placement.place(wanted, same->second);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (!placed[i]) continue;
      match.found[wanted[i].value()] = *placed[i];
      match.expected[placed[i]->value()] = wanted[i];
    }
  }
  for (const PortId nic : expected.nics())
    if (const auto channel = match.found[expected.channel_from(nic)->value()])
      match.found_nic[nic.value()] = found.source(*channel);
  match.remarks = Remarks(expected, found, who, match).run();
  return match;
}

ChannelEvidence evidence_of_no_link(ChannelId channel) {
  return {channel, Cause::down, kCertain,
          "no such link was found: unplugged, down or miswired, or it loses too much to be read"};
}

ChannelEvidence evidence_of_no_lid(ChannelId channel) {
  return {channel, Cause::down, kCertain,
          "the cable is there, but the subnet manager gave the NIC no LID: nobody can send to it; it may "
          "lose too much for that"};
}

ChannelEvidence evidence_of_slow_link(ChannelId channel, std::string_view rate, Bandwidth expected) {
  return {channel, Cause::rate, kCertain,
          fmt::format("the link runs at {} instead of {}", rate, readable(expected))};
}

namespace {

/// A switch of which nothing was found, by whichever of its cables, is more likely down than they are.
std::string words_of_no_link(const Fabric& expected, const FabricMatch& match, ChannelId channel) {
  for (const NodeId node : {expected.source_node(channel), expected.target_node(channel)}) {
    const std::size_t cables = expected.channels_at(node).size() / 2;
    if (!expected.is_host(node) && !match.is_there[node.value()] && cables > 1)
      return fmt::format("nothing of {} was found, by none of its {} cables: look at the switch first",
                         expected.name_of(node), cables);
  }
  return evidence_of_no_link(channel).text;
}

}  // namespace

bool is_in_view(const Fabric& expected, const FabricMatch& match, ChannelId channel) {
  const auto is_found = [&](PortId port) {
    const NodeId node = expected.port(port).node;
    return expected.is_host(node) ? match.found_nic[port.value()].has_value() : match.is_there[node.value()];
  };
  return is_found(expected.source(channel)) || is_found(expected.target(channel));
}

std::vector<ChannelEvidence> match_evidence(const Fabric& expected, const InfinibandFabric& found,
                                            const FabricMatch& match) {
  std::vector<ChannelEvidence> evidence;
  for (std::uint32_t c = 0; c < expected.channel_count(); ++c) {
    const ChannelId channel(c);
    const auto& there = match.found[c];
    if (!there) {
      if (is_in_view(expected, match, channel))
        evidence.push_back({channel, Cause::down, kCertain, words_of_no_link(expected, match, channel)});
      continue;
    }
    const IbPort& port = found.inventory.ports[found.fabric.source(*there).value()];
    if (port.state && *port.state != IbPortState::active)
      evidence.push_back(
          {channel, Cause::down, kCertain,
           "the cable is there, but the subnet manager has not activated the port; it may lose too "
           "much for that"});
    const auto rate = found.fabric.rate(*there);
    if (rate < expected.rate(channel) * 0.99)
      evidence.push_back(
          evidence_of_slow_link(channel, readable(rate) + shape_of(port), expected.rate(channel)));
  }
  return evidence;
}

}  // namespace weft::discover
