#include "probes/watch/look_finding.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "probes/diagnosis/report.hpp"
#include "topology/model/fabric.hpp"

namespace weft::watch {
namespace {

std::vector<ChannelId> channels_of(LinkId link, const std::optional<ChannelId>& channel) {
  if (channel) return {*channel};
  return {Fabric::a_to_b(link), Fabric::b_to_a(link)};
}

bool is_sure(Cause cause, double confidence) { return confidence >= diagnosis::named_from(cause); }

}  // namespace

std::vector<LookFinding> findings_of(const Diagnosis& diagnosis) {
  std::vector<LookFinding> all;
  const auto add = [&](LookFinding finding) {
    if (finding.confidence < diagnosis::kSuspected) return;
    std::ranges::sort(finding.place.channels);
    finding.sure = is_sure(finding.cause, finding.confidence);
    all.push_back(std::move(finding));
  };
  for (const LinkFinding& link : diagnosis.links)
    add({.place = {channels_of(link.link, link.channel), {}},
         .cause = link.cause,
         .verdict = link.verdict,
         .estimate = link.estimate,
         .confidence = link.confidence,
         .evidence = link.evidence});
  for (const HostFinding& host : diagnosis.hosts) {
    if (!host.cause) continue;
    IncidentPlace place;
    if (host.link)
      place.channels = channels_of(*host.link, host.channel);
    else
      place.nodes = {host.host};
    add({.place = std::move(place),
         .cause = *host.cause,
         .verdict = host.verdict,
         .estimate = host.estimate,
         .confidence = host.confidence.value_or(1.0),
         .evidence = host.evidence});
  }
  const auto is_set = [](const GroupFinding& group, const OpenSet& set) {
    std::vector<ChannelId> channels;
    for (const auto& each : set.alternatives) channels.insert(channels.end(), each.begin(), each.end());
    std::ranges::sort(channels);
    const auto again = std::ranges::unique(channels);
    channels.erase(again.begin(), again.end());
    // A set lists its likeliest alternatives alone, the group has the channels of all.
    const bool same = set.more ? std::ranges::includes(group.channels, channels) &&
                                     group.verdict == set.verdict && group.confidence == set.confidence
                               : group.channels == channels;
    return group.nodes.empty() && group.cause == set.cause && same;
  };
  for (const GroupFinding& group : diagnosis.groups) {
    if (std::ranges::any_of(diagnosis.sets, [&](const OpenSet& set) { return is_set(group, set); })) continue;
    LookFinding finding{.place = {group.channels, group.nodes},
                        .cause = group.cause,
                        .verdict = group.verdict,
                        .confidence = group.confidence,
                        .evidence = group.evidence};
    if (group.nodes.empty() && group.channels.size() > 1) {
      finding.place.channels.clear();
      for (const ChannelId channel : group.channels) finding.place.alternatives.push_back({channel});
    }
    add(std::move(finding));
  }
  for (const OpenSet& set : diagnosis.sets)
    add({.place = {{}, {}, set.alternatives},
         .cause = set.cause,
         .verdict = set.verdict,
         .confidence = set.confidence,
         .evidence = {
             fmt::format("one of {} alternatives{}", set.alternatives.size(), set.more ? " or more" : "")}});
  return all;
}

std::vector<ChannelId> channels_at(const Fabric& fabric, const IncidentPlace& place) {
  std::vector<ChannelId> channels = place.channels;
  for (const auto& alternative : place.alternatives)
    channels.insert(channels.end(), alternative.begin(), alternative.end());
  if (channels.empty())
    for (const NodeId node : place.nodes)
      std::ranges::copy(fabric.channels_at(node), std::back_inserter(channels));
  return channels;
}

std::vector<ChannelId> all_channels(const IncidentPlace& place) {
  std::vector<ChannelId> all = place.channels;
  for (const auto& alternative : place.alternatives)
    all.insert(all.end(), alternative.begin(), alternative.end());
  return all;
}

bool is_at_host(const Fabric& fabric, const IncidentPlace& place) {
  return std::ranges::any_of(all_channels(place), [&](ChannelId channel) {
    return fabric.is_host(fabric.source_node(channel)) || fabric.is_host(fabric.target_node(channel));
  });
}

bool overlaps(const std::vector<ChannelId>& a, const std::vector<ChannelId>& b) {
  return std::ranges::any_of(a, [&](ChannelId one) {
    return std::ranges::any_of(
        b, [&](ChannelId other) { return Fabric::link_of(one) == Fabric::link_of(other); });
  });
}

bool is_same(const IncidentPlace& a, const IncidentPlace& b) {
  const auto sorted = [](auto alternatives) {
    std::ranges::sort(alternatives);
    return alternatives;
  };
  return a.channels == b.channels && a.nodes == b.nodes && sorted(a.alternatives) == sorted(b.alternatives);
}

}  // namespace weft::watch
