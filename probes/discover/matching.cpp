#include "probes/discover/matching.hpp"

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
    for (std::size_t i = 0; same != there.end() && i < std::min(wanted.size(), same->second.size()); ++i) {
      match.found[wanted[i].value()] = same->second[i];
      match.expected[same->second[i].value()] = wanted[i];
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
