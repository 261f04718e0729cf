#include "tests/bench/diagnosis/special.hpp"

#include <algorithm>
#include <cmath>

#include "tests/bench/diagnosis/score.hpp"

namespace weft::bench {
namespace {

bool is_fault(const Run& run, ChannelId channel) { return std::ranges::binary_search(run.faults, channel); }

/// Final word on a channel: named faulty, dropped, or still open.
enum class Word { faulty, dropped, open };
Word word_on(ChannelId channel, const Diagnosis& diagnosis) {
  for (const LinkFinding& finding : diagnosis.links) {
    if (finding.link != Fabric::link_of(channel) || (finding.channel && *finding.channel != channel))
      continue;
    return finding.verdict == Verdict::unknown ? Word::open : Word::faulty;
  }
  for (const HostFinding& finding : diagnosis.hosts)
    if (finding.nic)
      for (const auto& members : diagnosis.ambiguous)
        if (members == std::vector{channel})
          return finding.verdict == Verdict::unknown ? Word::open : Word::faulty;
  return Word::dropped;
}

/// Of every finding with a name, the channels it may be about.
std::vector<std::vector<ChannelId>> named_classes(const Fabric& fabric, const Diagnosis& diagnosis) {
  std::vector<std::vector<ChannelId>> named;
  for (const LinkFinding& finding : diagnosis.links)
    if (finding.verdict != Verdict::unknown)
      named.push_back(finding.channel
                          ? std::vector{*finding.channel}
                          : std::vector{Fabric::a_to_b(finding.link), Fabric::b_to_a(finding.link)});
  for (const GroupFinding& finding : diagnosis.groups)
    if (finding.verdict != Verdict::unknown) named.push_back(finding.channels);
  for (const HostFinding& finding : diagnosis.hosts)
    if (finding.verdict != Verdict::unknown) {
      auto& channels = named.emplace_back();
      for (const PortId port : fabric.ports_of(finding.host))
        if (const auto channel = fabric.channel_from(port); channel && finding.nic.value_or(port) == port)
          channels.insert(channels.end(), {*channel, Fabric::reverse(*channel)});
    }
  return named;
}

bool is_settled(const Run& run, const Doubt& doubt, const Diagnosis& diagnosis) {
  return std::ranges::all_of(doubt.channels, [&](ChannelId channel) {
    return word_on(channel, diagnosis) == (is_fault(run, channel) ? Word::faulty : Word::dropped);
  });
}

}  // namespace

double switch_as_one(const Fabric& fabric, std::size_t seeds, std::uint64_t base) {
  std::size_t right = 0;
  for (std::size_t i = 0; i < seeds; ++i) {
    World world(fabric, {.kind = FaultyKind::whole_switch}, base + i);
    const Diagnosis diagnosis = diagnose(fabric, world.run().observations);
    const auto named = [](const auto& finding) { return finding.verdict != Verdict::unknown; };
    const bool only =
        std::ranges::none_of(diagnosis.links, named) && std::ranges::none_of(diagnosis.hosts, named);
    right +=
        only && diagnosis.groups.size() == 1 && diagnosis.groups[0].nodes == world.run().switches ? 1 : 0;
  }
  return static_cast<double>(right) / static_cast<double>(seeds);
}

Settled settle_doubts(const Fabric& fabric, std::size_t seeds, std::uint64_t base) {
  Settled result;
  const Scenario limit{.least_loss = 0.001, .most_loss = 0.002};
  for (std::size_t i = 0; i < seeds; ++i) {
    World world(fabric, limit, base + i);
    const auto first = assess(fabric, world.run().observations);
    const double budget = 0.1 * static_cast<double>(limit.probes) * limit.sizes.packets;
    double used = 0;
    for (const Doubt& doubt : first.doubts)
      for (const ChannelId channel : doubt.channels)
        for (std::uint64_t sent = 0; sent < doubt.packets && used < budget; sent += 100, used += 100)
          if (!world.probe_through(channel, doubt.channels, 100, 20000)) break;
    const Diagnosis second = diagnose(fabric, world.run().observations);
    for (const Doubt& doubt : first.doubts) {
      ++result.doubts;
      result.settled += is_settled(world.run(), doubt, second) ? 1 : 0;
    }
    result.packets +=
        used / (static_cast<double>(limit.probes) * limit.sizes.packets * static_cast<double>(seeds));
  }
  return result;
}

ClassScore score_classes(const Fabric& fabric, const Scenario& scenario, std::size_t seeds,
                         std::uint64_t base) {
  ClassScore score;
  for (std::size_t i = 0; i < seeds; ++i) {
    World world(fabric, scenario, base + i);
    const Run& run = world.run();
    const Diagnosis diagnosis = diagnose(fabric, run.observations);
    auto named = named_classes(fabric, diagnosis);
    std::ranges::sort(named);
    named.erase(std::unique(named.begin(), named.end()), named.end());
    std::vector<ChannelId> found;
    for (const auto& members : named) {
      const auto hits = std::ranges::count_if(members, [&](ChannelId c) { return is_fault(run, c); });
      score.wrong += hits == 0 ? 1 : 0;
      if (hits == 0) continue;
      score.members += static_cast<double>(members.size());
      for (const ChannelId c : members)
        if (is_fault(run, c)) found.push_back(c);
    }
    std::ranges::sort(found);
    found.erase(std::unique(found.begin(), found.end()), found.end());
    score.right += found.size();
    score.faults += run.faults.size();
  }
  if (score.right > 0) score.members /= static_cast<double>(score.right);
  return score;
}

}  // namespace weft::bench
