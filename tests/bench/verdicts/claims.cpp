#include "tests/bench/verdicts/claims.hpp"

#include <algorithm>

#include "topology/model/fabric.hpp"

namespace weft::bench {
namespace {

std::vector<ChannelId> channels_of(LinkId link, std::optional<ChannelId> channel) {
  if (channel) return {*channel};
  return {Fabric::a_to_b(link), Fabric::b_to_a(link)};
}

std::vector<ChannelId> channels_of(const Fabric& fabric, const HostFinding& finding) {
  if (finding.link) return channels_of(*finding.link, finding.channel);
  std::vector<ChannelId> channels;
  for (const PortId port : fabric.ports_of(finding.host)) {
    if (!fabric.port(port).link || (finding.nic && *finding.nic != port)) continue;
    const auto both = channels_of(*fabric.port(port).link, std::nullopt);
    channels.insert(channels.end(), both.begin(), both.end());
  }
  return channels;
}

std::vector<ChannelId> sum_of(const std::vector<std::vector<ChannelId>>& alternatives) {
  std::vector<ChannelId> all;
  for (const auto& alternative : alternatives) all.insert(all.end(), alternative.begin(), alternative.end());
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

}  // namespace

Claims claims_of(const Fabric& fabric, const Diagnosis& diagnosis) {
  Claims claims;
  for (const LinkFinding& finding : diagnosis.links)
    if (finding.verdict > Verdict::unknown)
      claims.names.push_back({channels_of(finding.link, finding.channel), finding.cause});
  for (const HostFinding& finding : diagnosis.hosts)
    if (finding.verdict > Verdict::unknown)
      claims.names.push_back({channels_of(fabric, finding), finding.cause});
  std::vector<std::vector<ChannelId>> known;
  for (const OpenSet& set : diagnosis.sets) {
    claims.sets.push_back({set.alternatives, set.cause});
    known.push_back(sum_of(set.alternatives));
  }
  for (const auto& members : diagnosis.ambiguous) {
    auto sorted = members;
    std::ranges::sort(sorted);
    const auto add = [&](std::optional<Cause> cause) {
      claims.sets.push_back({{}, cause});
      for (const ChannelId channel : sorted) claims.sets.back().alternatives.push_back({channel});
    };
    if (std::ranges::find(known, sorted) == known.end()) {
      known.push_back(sorted);
      add(std::nullopt);
      continue;
    }
    // A set has told of one cause; a group of the same channels tells of another.
    for (const GroupFinding& group : diagnosis.groups) {
      auto channels = group.channels;
      std::ranges::sort(channels);
      if (channels == sorted && group.verdict > Verdict::unknown) add(group.cause);
    }
  }
  for (const GroupFinding& group : diagnosis.groups) {
    auto channels = group.channels;
    std::ranges::sort(channels);
    // A group that shows a set, or a class, says that it is one of them.
    if (group.verdict <= Verdict::unknown || std::ranges::find(known, channels) != known.end()) continue;
    for (const NodeId node : group.nodes)
      if (!fabric.is_host(node)) claims.switches.emplace_back(node, group.cause);
  }
  return claims;
}

bool goes_with(std::optional<Cause> said, Cause is) { return !said || *said == is; }

bool holds(const std::vector<ChannelId>& channels, ChannelId channel) {
  return std::ranges::find(channels, channel) != channels.end();
}

bool holds(const OpenClaim& set, ChannelId channel) {
  return std::ranges::any_of(set.alternatives, [&](const auto& each) { return holds(each, channel); });
}

}  // namespace weft::bench
