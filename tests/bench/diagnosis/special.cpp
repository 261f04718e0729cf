#include "tests/bench/diagnosis/special.hpp"

#include <algorithm>

#include "topology/model/fabric.hpp"

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

bool is_settled(const Run& run, const diagnosis::Hypothesis& hypothesis, const Diagnosis& diagnosis) {
  return std::ranges::all_of(hypothesis.channels, [&](ChannelId channel) {
    return word_on(channel, diagnosis) == (is_fault(run, channel) ? Word::faulty : Word::dropped);
  });
}

}  // namespace

double switch_as_one(const Fabric& fabric, const Seeds& seeds) {
  const auto right = for_each_index(seeds.count, seeds.threads, [&](std::size_t i) {
    World world(fabric, {.kind = FaultyKind::whole_switch}, seeds.base + i);
    const Diagnosis diagnosis = diagnosis::diagnose(fabric, world.run().observations);
    const auto named = [](const auto& finding) { return finding.verdict != Verdict::unknown; };
    const bool only =
        std::ranges::none_of(diagnosis.links, named) && std::ranges::none_of(diagnosis.hosts, named);
    return only && diagnosis.groups.size() == 1 && diagnosis.groups[0].nodes == world.run().switches ? 1 : 0;
  });
  return static_cast<double>(std::ranges::count(right, 1)) / static_cast<double>(seeds.count);
}

namespace {

const Scenario kLimit{.least_loss = 0.001, .most_loss = 0.002};

Settled settle(World& world, const Fabric& fabric) {
  Settled result;
  const auto first = diagnosis::assess(fabric, world.run().observations);
  const double packets = static_cast<double>(kLimit.probes) * kLimit.sizes.packets;
  double used = 0;
  for (const diagnosis::Hypothesis& hypothesis : first.hypotheses)
    for (const ChannelId channel : hypothesis.channels)
      for (std::uint64_t sent = 0; sent < hypothesis.packets && used < 0.1 * packets;
           sent += 100, used += 100)
        if (!world.probe_through(channel, hypothesis.channels, 100, 20000)) break;
  const Diagnosis second = diagnosis::diagnose(fabric, world.run().observations);
  for (const diagnosis::Hypothesis& hypothesis : first.hypotheses) {
    ++result.hypotheses;
    result.settled += is_settled(world.run(), hypothesis, second) ? 1 : 0;
  }
  result.packets = used / packets;
  return result;
}

ClassScore class_score(const Fabric& fabric, const Run& run) {
  ClassScore score;
  auto named = named_classes(fabric, diagnosis::diagnose(fabric, run.observations));
  std::ranges::sort(named);
  named.erase(std::unique(named.begin(), named.end()), named.end());
  std::vector<ChannelId> found;
  for (const auto& members : named) {
    const auto hits = std::ranges::count_if(members, [&](ChannelId c) { return is_fault(run, c); });
    score.wrong += hits == 0 ? 1 : 0;
    if (hits == 0) continue;
    ++score.answers;
    score.members += members.size();
    for (const ChannelId c : members)
      if (is_fault(run, c)) found.push_back(c);
  }
  const auto nats = information(fabric, run);
  for (std::size_t i = 0; i < run.faults.size(); ++i) {
    const std::size_t right = std::ranges::find(found, run.faults[i]) != found.end() ? 1 : 0;
    const std::size_t band = Score::band_of(nats[i]);
    ++score.faults;
    score.right += right;
    ++score.in_band[band];
    score.right_in_band[band] += right;
  }
  return score;
}

}  // namespace

Settled settle_hypotheses(const Fabric& fabric, const Seeds& seeds) {
  const auto all = for_each_index(seeds.count, seeds.threads, [&](std::size_t i) {
    World world(fabric, kLimit, seeds.base + i);
    return settle(world, fabric);
  });
  Settled sum;
  for (const Settled& one : all) {
    sum.hypotheses += one.hypotheses;
    sum.settled += one.settled;
    sum.packets += one.packets / static_cast<double>(seeds.count);
  }
  return sum;
}

ClassScore score_classes(const Fabric& fabric, const Scenario& scenario, const Seeds& seeds) {
  const auto all = for_each_index(seeds.count, seeds.threads, [&](std::size_t i) {
    World world(fabric, scenario, seeds.base + i);
    return class_score(fabric, world.run());
  });
  ClassScore sum;
  for (const ClassScore& one : all) {
    sum.faults += one.faults;
    sum.right += one.right;
    sum.wrong += one.wrong;
    sum.answers += one.answers;
    sum.members += one.members;
    for (std::size_t band = 0; band < sum.in_band.size(); ++band) {
      sum.in_band[band] += one.in_band[band];
      sum.right_in_band[band] += one.right_in_band[band];
    }
  }
  return sum;
}

}  // namespace weft::bench
