// A switch that swallows all that comes in to it, or lets nothing out: its hosts, which nobody hears, are not
// what is at fault for sure.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

#include "swept.hpp"
#include "tests/support/draws.hpp"
#include "topology/model/clos.hpp"

namespace weft::diagnosis {
namespace {

const std::array kShapes{ClosSpec{.leaves = 4, .spines = 2, .hosts_per_leaf = 2},
                         ClosSpec{.leaves = 3, .spines = 2, .hosts_per_leaf = 3},
                         ClosSpec{.leaves = 4, .spines = 4, .hosts_per_leaf = 2},
                         ClosSpec{.leaves = 3, .spines = 2, .hosts_per_leaf = 2}};
constexpr std::uint64_t kSeeds = draws(24);

NodeId draw_leaf(const Fabric& fabric, std::uint64_t seed, const ClosSpec& shape) {
  return *fabric.find_node(fmt::format("leaf{}", 1 + std::mt19937_64(seed)() % shape.leaves));
}

/// Faults by which all channels into `node`, or out of it, lose everything; of the cables to hosts alone, or
/// of all.
std::vector<std::string> all_dead(const Fabric& fabric, NodeId node, bool inwards, bool hosts_alone) {
  std::vector<std::string> faults;
  for (const PortId port : fabric.ports_of(node))
    if (const auto out = fabric.channel_from(port)) {
      const NodeId other = fabric.target_node(*out);
      if (hosts_alone && !fabric.is_host(other)) continue;
      faults.push_back(fmt::format("{}:loss=100%,from={}", fabric.name_of(Fabric::link_of(*out)),
                                   fabric.name_of(inwards ? other : node)));
    }
  return faults;
}

bool names_hosts(const Diagnosis& found) {
  return std::ranges::any_of(found.hosts, [](const auto& one) { return one.verdict > Verdict::unknown; }) ||
         std::ranges::any_of(found.links, [](const auto& one) { return one.verdict > Verdict::unknown; });
}

/// Some alternative holds all of these channels.
bool holds(const Diagnosis& found, std::vector<ChannelId> channels) {
  std::ranges::sort(channels);
  return std::ranges::any_of(found.sets, [&](const OpenSet& set) {
    return std::ranges::any_of(set.alternatives, [&](auto alternative) {
      std::ranges::sort(alternative);
      return std::ranges::includes(alternative, channels);
    });
  });
}

TEST(DeadSwitch, ALeafThatSwallowsAllStandsInASetWithItsHosts) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const ClosSpec& shape = kShapes[seed % kShapes.size()];
    const Fabric fabric = make_clos(shape).value();
    const NodeId leaf = draw_leaf(fabric, seed, shape);
    for (const bool inwards : {true, false}) {
      SCOPED_TRACE(
          fmt::format("seed {}, all {} {}", seed, inwards ? "into" : "out of", fabric.name_of(leaf)));
      const Diagnosis found = swept(fabric, all_dead(fabric, leaf, inwards, false), {.seed = seed});
      EXPECT_EQ(found.verdict, Verdict::failed);
      EXPECT_FALSE(names_hosts(found));
      std::vector<ChannelId> dead;
      for (const PortId port : fabric.ports_of(leaf))
        if (const auto out = fabric.channel_from(port))
          dead.push_back(inwards ? Fabric::reverse(*out) : *out);
      EXPECT_TRUE(holds(found, dead));
    }
  }
}

/// All that comes to it crosses its uplink, which may be what is dead.
TEST(DeadSwitch, ALeafOfOneUplinkThatLetsNothingOutStandsBesideTheWayIn) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const std::array kOneSpine{ClosSpec{.leaves = 2, .spines = 1, .hosts_per_leaf = 2},
                               ClosSpec{.leaves = 2, .spines = 1, .hosts_per_leaf = 3},
                               ClosSpec{.leaves = 3, .spines = 1, .hosts_per_leaf = 2}};
    const ClosSpec& shape = kOneSpine[seed % kOneSpine.size()];
    const Fabric fabric = make_clos(shape).value();
    const NodeId leaf = draw_leaf(fabric, seed, shape);
    SCOPED_TRACE(fmt::format("seed {}, out of {} of {}", seed, fabric.name_of(leaf), shape.leaves));
    const Diagnosis found = swept(fabric, all_dead(fabric, leaf, false, false), {.seed = seed});
    EXPECT_EQ(found.verdict, Verdict::failed);
    EXPECT_FALSE(names_hosts(found));
    std::vector<ChannelId> dead;
    for (const PortId port : fabric.ports_of(leaf))
      if (const auto out = fabric.channel_from(port)) dead.push_back(*out);
    EXPECT_TRUE(holds(found, dead));
    // A way in that alone is dead is named: the leaf answers its hosts.
    const ChannelId way_in = [&] {
      for (const ChannelId one : dead)
        if (fabric.between_switches(one)) return Fabric::reverse(one);
      return dead.front();
    }();
    const auto alone = swept(fabric,
                             {fmt::format("{}:loss=100%,from={}", fabric.name_of(Fabric::link_of(way_in)),
                                          fabric.name_of(fabric.source_node(way_in)))},
                             {.seed = seed});
    ASSERT_EQ(alone.links.size(), 1u);
    EXPECT_EQ(alone.links[0].link, Fabric::link_of(way_in));
    EXPECT_TRUE(alone.sets.empty());
  }
}

TEST(DeadSwitch, WhereTheLeafAnswersTracesItsHostsAreNamed) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const ClosSpec& shape = kShapes[seed % kShapes.size()];
    const Fabric fabric = make_clos(shape).value();
    const NodeId leaf = draw_leaf(fabric, seed, shape);
    SCOPED_TRACE(fmt::format("seed {}, hosts of {}", seed, fabric.name_of(leaf)));
    const Diagnosis found = swept(fabric, all_dead(fabric, leaf, false, true), {.seed = seed});
    EXPECT_EQ(found.hosts.size(), shape.hosts_per_leaf);
    for (const HostFinding& host : found.hosts) EXPECT_EQ(host.verdict, Verdict::failed);
    EXPECT_TRUE(found.sets.empty());
  }
}

}  // namespace
}  // namespace weft::diagnosis
