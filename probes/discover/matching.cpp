#include "probes/discover/matching.hpp"

#include <algorithm>
#include <map>

namespace weft {
namespace {

constexpr double kCertain = 50;  // nats: seen, not inferred

using NodePair = std::pair<std::string, std::string>;

/// The channels between two nodes by their names, in the order of links.
std::map<NodePair, std::vector<ChannelId>> by_ends(const Fabric& fabric) {
  std::map<NodePair, std::vector<ChannelId>> channels;
  for (std::uint32_t c = 0; c < fabric.channel_count(); ++c) {
    const ChannelId id(c);
    channels[{fabric.name_of(fabric.source_node(id)), fabric.name_of(fabric.target_node(id))}].push_back(id);
  }
  return channels;
}

/// A switch calls its ports by the numbers on its front; the NICs of a host are counted as far as they were
/// reached, so that another may be the first.
bool same_switch_ports(const Fabric& expected, ChannelId wanted, const Fabric& found, ChannelId there) {
  const auto same = [&](PortId a, PortId b) {
    return expected.is_host(expected.port(a).node) || expected.port(a).number == found.port(b).number;
  };
  return same(expected.source(wanted), found.source(there)) &&
         same(expected.target(wanted), found.target(there));
}

/// Puts each of `found` at the place of the one it is of `wanted`: by the ports, those left in order.
std::vector<std::optional<ChannelId>> in_order_of(const Fabric& expected,
                                                  const std::vector<ChannelId>& wanted, const Fabric& found,
                                                  std::vector<ChannelId> there) {
  std::vector<std::optional<ChannelId>> placed(wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto same = std::ranges::find_if(
        there, [&](ChannelId one) { return same_switch_ports(expected, wanted[i], found, one); });
    if (same == there.end()) continue;
    placed[i] = *same;
    there.erase(same);
  }
  auto next = there.begin();
  for (auto& place : placed)
    if (!place && next != there.end()) place = *next++;
  return placed;
}

std::string shape_of(const IbPort& port) {
  return port.width && port.speed ? fmt::format(" ({}{})", to_string(*port.width), to_string(*port.speed))
                                  : "";
}

}  // namespace

FabricMatch match_fabrics(const Fabric& expected, const Fabric& found) {
  FabricMatch match;
  match.found.resize(expected.channel_count());
  match.expected.resize(found.channel_count());
  match.found_nic.resize(expected.port_count());
  const auto there = by_ends(found);
  for (const auto& [ends, wanted] : by_ends(expected)) {
    const auto same = there.find(ends);
    if (same == there.end()) continue;
    const auto placed = in_order_of(expected, wanted, found, same->second);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (!placed[i]) continue;
      match.found[wanted[i].value()] = *placed[i];
      match.expected[placed[i]->value()] = wanted[i];
    }
  }
  for (const PortId nic : expected.nics())
    if (const auto channel = match.found[expected.channel_from(nic)->value()])
      match.found_nic[nic.value()] = found.source(*channel);
  return match;
}

ChannelEvidence evidence_of_no_link(ChannelId channel) {
  return {channel, Cause::down, kCertain, "no such link was found: unplugged, down or miswired"};
}

ChannelEvidence evidence_of_slow_link(ChannelId channel, std::string_view rate, Bandwidth expected) {
  return {channel, Cause::rate, kCertain,
          fmt::format("the link runs at {} instead of {}", rate, to_string(expected))};
}

std::vector<ChannelEvidence> match_evidence(const Fabric& expected, const InfinibandFabric& found,
                                            const FabricMatch& match) {
  std::vector<ChannelEvidence> evidence;
  for (std::uint32_t c = 0; c < expected.channel_count(); ++c) {
    const ChannelId channel(c);
    const auto& there = match.found[c];
    if (!there) {
      evidence.push_back(evidence_of_no_link(channel));
      continue;
    }
    const IbPort& port = found.inventory.ports[found.fabric.source(*there).value()];
    if (port.state && *port.state != IbPortState::active)
      evidence.push_back({channel, Cause::down, kCertain,
                          "the cable is there, but the subnet manager has not activated the port"});
    const auto rate = found.fabric.rate(*there);
    if (rate < expected.rate(channel) * 0.99)
      evidence.push_back(
          evidence_of_slow_link(channel, to_string(rate) + shape_of(port), expected.rate(channel)));
  }
  return evidence;
}

}  // namespace weft
