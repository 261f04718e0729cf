#include "tests/bench/diagnosis/scenario.hpp"

#include <algorithm>
#include <cmath>

#include "topology/base/check.hpp"
#include "topology/model/clos.hpp"

namespace weft::bench {
namespace {

Fabric made(Result<Fabric> fabric) {
  WEFT_CHECK(fabric.has_value());
  return std::move(*fabric);
}

double uniform(Random& random, double low, double high) {
  return std::uniform_real_distribution(low, high)(random);
}

std::size_t pick(Random& random, std::size_t below) {
  return std::uniform_int_distribution<std::size_t>(0, below - 1)(random);
}

std::uint64_t binomial(Random& random, std::uint64_t n, double p) {
  // Below one expected loss by inversion of the geometric gaps: far faster than the library's set-up.
  if (p <= 0) return 0;
  if (p * static_cast<double>(n) > 5)
    return std::binomial_distribution<std::uint64_t>(n, std::min(p, 1.0))(random);
  const double log_pass = std::log1p(-p);
  std::uint64_t count = 0;
  double at = 0;
  while (true) {
    at += std::floor(std::log(1.0 - uniform(random, 0, 1)) / log_pass) + 1;
    if (at > static_cast<double>(n)) return count;
    ++count;
  }
}

}  // namespace

Fabric fat_tree_k10() {
  return made(make_pod_clos(
      {.name = "k10", .pods = 10, .leaves = 5, .spines = 5, .cores = 25, .hosts_per_leaf = 15}));
}
Fabric leaf_spine_120x90() {
  return made(make_clos({.name = "120x90", .leaves = 120, .spines = 90, .hosts_per_leaf = 10}));
}
Fabric rails_24576() {
  return made(make_rails({.name = "rails",
                          .groups = 12,
                          .hosts_per_group = 32,
                          .rails = 8,
                          .spines = 32,
                          .pods = 8,
                          .cores = 256}));
}

RandomPaths::RandomPaths(const Fabric& fabric, double removed_share, Random& random) : fabric_(fabric) {
  removed_.assign(fabric.link_count(), false);
  out_.resize(fabric.node_count());
  distance_.resize(fabric.node_count());
  for (std::uint32_t l = 0; l < fabric.link_count(); ++l)
    if (fabric.between_switches(LinkId(l)) && removed_share > 0)
      removed_[l] = uniform(random, 0, 1) < removed_share;
  for (std::uint32_t c = 0; c < fabric.channel_count(); ++c) {
    const ChannelId channel(c);
    if (!fabric.between_switches(channel) || !is_there(channel)) continue;
    out_[fabric.source_node(channel).value()].push_back({channel, fabric.target_node(channel)});
    switch_channels_.push_back(channel);
  }
}

const std::vector<std::uint8_t>& RandomPaths::distances_to(NodeId leaf) {
  auto& distance = distance_[leaf.value()];
  if (!distance.empty()) return distance;
  distance.assign(fabric_.node_count(), 255);
  distance[leaf.value()] = 0;
  std::vector<NodeId> ring{leaf};
  for (std::uint8_t d = 1; !ring.empty(); ++d) {
    std::vector<NodeId> next;
    for (const NodeId node : ring)
      for (const Hop& hop : out_[node.value()])
        if (auto& at = distance[hop.target.value()]; at == 255) {
          at = d;
          next.push_back(hop.target);
        }
    ring = std::move(next);
  }
  return distance;
}

const std::vector<ChannelId>& RandomPaths::next_hops(NodeId at, const std::vector<std::uint8_t>& distance) {
  hops_.clear();
  const int nearer = distance[at.value()] - 1;
  for (const Hop& hop : out_[at.value()])
    if (distance[hop.target.value()] == nearer) hops_.push_back(hop.channel);
  return hops_;
}

std::vector<ChannelId> RandomPaths::draw(PortId from, PortId to, Random& random) {
  const ChannelId first = *fabric_.channel_from(from);
  const ChannelId last = *fabric_.channel_into(to);
  const auto& distance = distances_to(fabric_.source_node(last));
  std::vector<ChannelId> path{first};
  for (NodeId at = fabric_.target_node(first); at != fabric_.source_node(last);) {
    if (distance[at.value()] == 255) return {};
    const auto& hops = next_hops(at, distance);
    path.push_back(hops[pick(random, hops.size())]);
    at = fabric_.target_node(path.back());
  }
  path.push_back(last);
  return path;
}

std::vector<ChannelId> RandomPaths::draw(Random& random) {
  const auto nics = fabric_.nics();
  const auto leaf = [&](PortId nic) { return fabric_.target_node(*fabric_.channel_from(nic)); };
  while (true) {
    const PortId from = nics[pick(random, nics.size())];
    const PortId to = nics[pick(random, nics.size())];
    if (leaf(from) == leaf(to) || fabric_.port(from).node == fabric_.port(to).node) continue;
    if (auto path = draw(from, to, random); !path.empty()) return path;
  }
}

std::vector<std::vector<ChannelId>> RandomPaths::all(PortId from, PortId to, std::size_t most) {
  const ChannelId first = *fabric_.channel_from(from);
  const ChannelId last = *fabric_.channel_into(to);
  const auto& distance = distances_to(fabric_.source_node(last));
  std::vector<std::vector<ChannelId>> open{{first}};
  std::vector<std::vector<ChannelId>> done;
  while (!open.empty() && done.size() < most) {
    auto path = std::move(open.back());
    open.pop_back();
    const NodeId at = fabric_.target_node(path.back());
    if (at == fabric_.source_node(last)) {
      path.push_back(last);
      done.push_back(std::move(path));
      continue;
    }
    for (const ChannelId hop : next_hops(at, distance)) {
      open.push_back(path);
      open.back().push_back(hop);
    }
  }
  return done;
}

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
