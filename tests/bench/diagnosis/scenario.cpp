#include "tests/bench/diagnosis/scenario.hpp"

#include <algorithm>
#include <cmath>

#include "topology/model/fabric.hpp"

namespace weft::bench {
std::uint64_t FlowSizes::draw(Random& random) const {
  if (shape == 0) return static_cast<std::uint64_t>(packets);
  // A Pareto cut at cap has mean shape/(shape-1) m (1-(m/cap)^(shape-1)) / (1-(m/cap)^shape): solve for m.
  double low = 0.1;
  double high = packets;
  for (int i = 0; i < 40; ++i) {
    const double m = 0.5 * (low + high);
    const double mean =
        shape / (shape - 1) * m * (1 - std::pow(m / cap, shape - 1)) / (1 - std::pow(m / cap, shape));
    (mean > packets ? high : low) = m;
  }
  const double u = uniform(random, std::pow(low / cap, shape), 1.0);
  return static_cast<std::uint64_t>(std::max(1.0, std::round(low * std::pow(u, -1.0 / shape))));
}

World::World(const Fabric& fabric, const Scenario& scenario, std::uint64_t seed)
    : fabric_(fabric), scenario_(scenario), random_(seed), paths_(fabric, scenario.removed, random_) {
  run_.observations.probes.reserve(scenario.probes);
  for (std::size_t i = 0; i < scenario.probes; ++i) plan_probe();
  redraw(seed);
}

void World::redraw(std::uint64_t seed) {
  std::seed_seq words{seed, seed >> 32, std::uint64_t{0x1055}};  // apart from the stream that drew the paths
  random_.seed(words);
  run_.rate.assign(fabric_.channel_count(), 0.0);
  run_.faults.clear();
  run_.switches.clear();
  for (double& rate : run_.rate) rate = uniform(random_, 0, scenario_.background);
  break_things();
  auto& probes = run_.observations.probes;
  for (Observation& probe : probes) lose(probe);
  for (std::size_t i = 0; i < scenario_.stray; ++i) {
    Observation& hit = probes[pick(random_, probes.size())];
    if (hit.lost < hit.sent) ++hit.lost;
  }
}

void World::break_things() {
  std::vector<ChannelId> candidates = paths_.switch_channels();
  if (scenario_.kind == FaultyKind::nic_channels) {
    candidates.clear();
    for (const PortId nic : fabric_.nics())
      candidates.insert(candidates.end(), {*fabric_.channel_from(nic), *fabric_.channel_into(nic)});
  }
  if (scenario_.kind == FaultyKind::whole_switch) {
    const ChannelId any = candidates[pick(random_, candidates.size())];
    const NodeId broken = fabric_.source_node(any);
    run_.switches.push_back(broken);
    const double loss = uniform(random_, scenario_.least_loss, scenario_.most_loss);
    for (const PortId port : fabric_.ports_of(broken))
      if (const auto in = fabric_.channel_into(port)) run_.rate[in->value()] += loss;
    return;
  }
  const std::size_t count = scenario_.most_faults == 0 ? 0 : pick(random_, scenario_.most_faults + 1);
  while (run_.faults.size() < count) {
    const ChannelId channel = candidates[pick(random_, candidates.size())];
    if (std::ranges::find(run_.faults, channel) != run_.faults.end()) continue;
    run_.faults.push_back(channel);
    run_.rate[channel.value()] += uniform(random_, scenario_.least_loss, scenario_.most_loss);
  }
  std::ranges::sort(run_.faults);
}

/// A path of a set is as likely as the others.
double World::passes(PathSetId paths) const {
  const PathTable& table = run_.observations.paths;
  double sum = 0;
  for (const PathId path : table.paths(paths)) {
    double pass = 1;
    for (const ChannelId channel : table.channels(path)) pass *= 1 - run_.rate[channel.value()];
    sum += pass;
  }
  return sum / static_cast<double>(table.paths(paths).size());
}

void World::lose(Observation& probe) {
  const double pass = passes(probe.path) * (probe.back ? passes(*probe.back) : 1.0);
  probe.lost = binomial(random_, probe.sent, 1 - pass);
}

void World::plan_probe() {
  const auto path = paths_.draw(random_);
  PathTable& table = run_.observations.paths;
  Observation probe{.sent = scenario_.sizes.draw(random_)};
  const PortId from = fabric_.source(path.front());
  const PortId to = fabric_.target(path.back());
  if (scenario_.seen == Seen::sets) {
    std::vector<PathId> members;
    for (const auto& one : paths_.all(from, to, 64)) members.push_back(table.intern(one));
    probe.path = table.intern_set(members);
  } else {
    probe.path = table.only(table.intern(path));
  }
  if (scenario_.seen == Seen::round_trips)
    probe.back = table.only(table.intern(paths_.draw(to, from, random_)));
  run_.observations.probes.push_back(probe);
}

bool World::probe_through(ChannelId through, const std::vector<ChannelId>& around, std::uint64_t packets,
                          int tries) {
  const auto crosses = [](const std::vector<ChannelId>& path, ChannelId c) {
    return std::ranges::find(path, c) != path.end();
  };
  for (int i = 0; i < tries; ++i) {
    const auto path = paths_.draw(random_);
    if (!crosses(path, through)) continue;
    const bool clean = std::ranges::none_of(
        around, [&](ChannelId other) { return other != through && crosses(path, other); });
    if (!clean) continue;
    PathTable& table = run_.observations.paths;
    Observation& probe = run_.observations.probes.emplace_back();
    probe.path = table.only(table.intern(path));
    probe.sent = packets;
    lose(probe);
    return true;
  }
  return false;
}

}  // namespace weft::bench
