// Delays: drawn sets of delayed cables on small fabrics. Round trips are made as the simulator makes them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <random>
#include <set>

#include "probes/diagnosis/diagnose.hpp"
#include "topology/model/clos.hpp"

namespace weft {
namespace {

/// Round trips between NICs of a fabric over its shortest paths, with delays that the test knows.
class RoundTrips {
 public:
  RoundTrips(Fabric made, std::uint64_t seed) : fabric(std::move(made)), random_(seed) {}

  Fabric fabric;
  Observations seen;
  std::map<ChannelId, double> delay;  // microseconds
  double fastest_delay = 1e300;       // the least that any round trip was delayed by
  double background = 0;              // microseconds that every path takes longer

  ChannelId channel(std::string_view name) const { return *fabric.find_channel(name); }
  void delay_cable(std::string_view name, double micros) {
    const LinkId link = *fabric.find_link(name);
    delay[Fabric::a_to_b(link)] = delay[Fabric::b_to_a(link)] = micros;
  }

  /// Some `pairs` pairs of NICs, each over each of its paths and back over another, small and large.
  void probe(std::size_t pairs, bool under_one_leaf) {
    const auto nics = fabric.nics();
    std::vector<std::pair<PortId, PortId>> all;
    for (const PortId a : nics)
      for (const PortId b : nics)
        if (fabric.port(a).node != fabric.port(b).node && (under_one_leaf || leaf_of(a) != leaf_of(b)))
          all.emplace_back(a, b);
    std::ranges::shuffle(all, random_);
    const double share = static_cast<double>(pairs) / static_cast<double>(all.size());
    std::map<std::pair<NodeId, NodeId>, int> used;
    for (const auto& [a, b] : all) {
      const bool first = used[{leaf_of(a), leaf_of(b)}]++ < 2;  // every pair of leaves is probed
      if (first || std::uniform_real_distribution()(random_) < share) probe(a, b);
    }
  }

  Diagnosis diagnosed() const { return diagnose(fabric, seen); }

 private:
  NodeId leaf_of(PortId nic) const { return fabric.target_node(*fabric.channel_from(nic)); }

  std::vector<std::vector<ChannelId>> paths_between(PortId src, PortId dst) const {
    const ChannelId last = *fabric.channel_into(dst);
    std::vector<std::vector<ChannelId>> paths, ways{{*fabric.channel_from(src)}};
    while (paths.empty()) {
      std::vector<std::vector<ChannelId>> longer;
      for (const auto& way : ways)
        for (const PortId port : fabric.ports_of(fabric.target_node(way.back()))) {
          const auto next = fabric.channel_from(port);
          if (!next || *next == Fabric::reverse(way.back())) continue;
          if (fabric.is_host(fabric.target_node(*next)) && *next != last) continue;
          longer.push_back(way);
          longer.back().push_back(*next);
          if (*next == last) paths.push_back(longer.back());
        }
      ways = std::move(longer);
    }
    return paths;
  }

  void probe(PortId src, PortId dst) {
    const auto there = paths_between(src, dst);
    const auto back = paths_between(dst, src);
    std::size_t turn = turn_++;
    for (const auto& path : there) {
      const auto& answer = back[turn++ % back.size()];
      for (const Bytes size : {Bytes(128), Bytes(4160)}) add(path, answer, size);
    }
  }

  void add(const std::vector<ChannelId>& there, const std::vector<ChannelId>& back, Bytes size) {
    double fixed = 4 + background, late = 0;
    for (const auto& way : {there, back})
      for (const ChannelId c : way) {
        fixed += 0.6 + static_cast<double>(size.count()) * 8 / 400'000;
        if (const auto at = delay.find(c); at != delay.end()) late += at->second;
      }
    fastest_delay = std::min(fastest_delay, late);
    const double mean = 0.15 * static_cast<double>(there.size() + back.size());
    const auto quantile = [&](double q) {
      const double scattered =
          -std::log1p(-q) + std::normal_distribution()(random_) * std::sqrt(q / (1 - q) / 30);
      return Nanoseconds(static_cast<std::int64_t>(1e3 * (fixed + late + mean * std::max(scattered, 0.0))));
    };
    const Nanoseconds p50 = quantile(0.5);
    seen.probes.push_back({.path = seen.paths.only(seen.paths.intern(there)),
                           .back = seen.paths.only(seen.paths.intern(back)),
                           .size = size,
                           .rtt = RttQuantiles{p50, std::max(p50, quantile(0.99))}});
  }

  std::mt19937_64 random_;
  std::size_t turn_ = 0;
};

std::vector<std::pair<std::string, Fabric>> small_fabrics() {
  std::vector<std::pair<std::string, Fabric>> fabrics;
  for (const auto& [leaves, spines] : {std::pair(2, 2), {2, 4}, {3, 2}, {4, 4}, {6, 6}})
    fabrics.emplace_back(fmt::format("{}x{}", leaves, spines),
                         *make_clos({.leaves = static_cast<std::uint32_t>(leaves),
                                     .spines = static_cast<std::uint32_t>(spines),
                                     .hosts_per_leaf = 2}));
  fabrics.emplace_back(
      "pods", *make_pod_clos({.pods = 2, .leaves = 2, .spines = 2, .cores = 4, .hosts_per_leaf = 2}));
  fabrics.emplace_back("rails", *make_rails({.groups = 2, .hosts_per_group = 2, .rails = 2, .spines = 2}));
  return fabrics;
}

/// What a diagnosis says of cables.
struct Blamed {
  std::set<LinkId> named;
  std::set<LinkId> in_sets;  // of at most six alternatives
};

Blamed blamed(const Diagnosis& diagnosis) {
  Blamed cables;
  for (const LinkFinding& finding : diagnosis.links)
    if (finding.verdict != Verdict::unknown) cables.named.insert(finding.link);
  for (const HostFinding& finding : diagnosis.hosts)
    if (finding.verdict != Verdict::unknown && finding.link) cables.named.insert(*finding.link);
  for (const OpenSet& set : diagnosis.sets)
    if (set.alternatives.size() <= 6)
      for (const auto& alternative : set.alternatives)
        for (const ChannelId channel : alternative) cables.in_sets.insert(Fabric::link_of(channel));
  return cables;
}

struct Tally {
  std::size_t faults = 0, hits = 0, names = 0, wrong = 0, healthy = 0;
};

/// Delays of 50 us to 5 ms, log-uniform, alike or not, in one direction or both of `cables` cables.
std::set<LinkId> draw_faults(RoundTrips& run, std::size_t cables, std::mt19937_64& random) {
  std::vector<std::uint32_t> links(run.fabric.link_count());
  for (std::uint32_t i = 0; i < links.size(); ++i) links[i] = i;
  std::ranges::shuffle(links, random);
  const auto amount = [&] { return 50 * std::pow(100.0, std::uniform_real_distribution()(random)); };
  const bool alike = random() % 3 == 0;
  const double common = amount();
  const auto directions = random() % 3;  // both, one, either
  std::set<LinkId> faulty;
  for (std::size_t i = 0; i < cables; ++i) {
    const LinkId link(links[i]);
    faulty.insert(link);
    const double micros = alike ? common : amount();
    const bool both = directions == 0 || (directions == 2 && random() % 2 == 0);
    const ChannelId one(2 * links[i] + static_cast<std::uint32_t>(random() % 2));
    run.delay[one] = micros;
    if (both) run.delay[Fabric::reverse(one)] = micros;
  }
  return faulty;
}

void score(const RoundTrips& run, const std::set<LinkId>& faulty, Tally& tally, const std::string& where) {
  const Diagnosis diagnosis = run.diagnosed();
  const Blamed cables = blamed(diagnosis);
  tally.healthy += run_verdict(diagnosis) == Verdict::healthy;
  for (const LinkId link : faulty) {
    const bool hit = cables.named.contains(link) || cables.in_sets.contains(link);
    ++tally.faults;
    tally.hits += hit;
    if (!hit && std::getenv("WEFT_SHOW")) fmt::print("{}: missed {}\n", where, run.fabric.name_of(link));
  }
  for (const LinkId link : cables.named) {
    ++tally.names;
    tally.wrong += !faulty.contains(link) && !cables.in_sets.contains(link);
    if (!faulty.contains(link) && !cables.in_sets.contains(link) && std::getenv("WEFT_SHOW"))
      fmt::print("{}: wrong {}\n", where, run.fabric.name_of(link));
  }
}

Tally tally_of(const Fabric& fabric, const std::string& name, bool few, bool under_one_leaf, int draws) {
  Tally tally;
  for (int draw = 0; draw < draws; ++draw) {
    std::mt19937_64 random(static_cast<std::uint64_t>(draw) * 7919 + (few ? 1 : 2));
    RoundTrips run(fabric, random());
    const std::size_t half = fabric.link_count() / 2;
    const std::size_t cables = few ? 1 + random() % 3 : 4 + random() % (std::max<std::size_t>(half, 4) - 3);
    const auto faulty = draw_faults(run, cables, random);
    run.probe(100, under_one_leaf);
    // What all round trips share is not told of channels.
    if (run.fastest_delay > 0) continue;
    score(run, faulty, tally, fmt::format("{} {} {}", name, few ? "few" : "many", draw));
  }
  return tally;
}

void expect_found(bool few, bool under_one_leaf, double hits, double wrong) {
  for (const auto& [name, fabric] : small_fabrics()) {
    const Tally tally = tally_of(fabric, name, few, under_one_leaf, 40);
    if (std::getenv("WEFT_SHOW"))
      fmt::print("{} few {} near {}: {}/{} wrong {}/{} healthy {}\n", name, few, under_one_leaf, tally.hits,
                 tally.faults, tally.wrong, tally.names, tally.healthy);
    EXPECT_EQ(tally.healthy, 0u) << name;
    EXPECT_GE(static_cast<double>(tally.hits), hits * static_cast<double>(tally.faults)) << name;
    EXPECT_LE(static_cast<double>(tally.wrong), wrong * static_cast<double>(tally.names)) << name;
  }
}

TEST(Delays, OfOneToThreeCablesAreNamedOrInASet) { expect_found(true, false, 0.97, 0.005); }
TEST(Delays, OfUpToHalfOfAllCablesAreNamedOrInASet) { expect_found(false, false, 0.90, 0.02); }
TEST(Delays, OfAFewAreToldFromWhatAllPathsShareByHostsUnderOneLeaf) { expect_found(true, true, 0.97, 0.005); }
TEST(Delays, OfManyAreToldFromWhatAllPathsShareByHostsUnderOneLeaf) { expect_found(false, true, 0.90, 0.02); }

}  // namespace
}  // namespace weft
