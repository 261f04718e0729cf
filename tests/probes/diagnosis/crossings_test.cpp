#include "probes/diagnosis/counts/crossings.hpp"

#include <gtest/gtest.h>

#include <set>

#include "topology/model/clos.hpp"

namespace weft::diagnosis {
namespace {

/// host1 to host2 over two spines.
class CrossingsOfAPair : public testing::Test {
 protected:
  ChannelId channel(std::string_view name) const { return *fabric_.find_channel(name); }
  PathId path(const std::string& spine) {
    return seen_.paths.intern({channel("host1->leaf1"), channel("leaf1->" + spine),
                               channel(spine + "->leaf2"), channel("leaf2->host2")});
  }
  PathId path_back() {
    return seen_.paths.intern({channel("host2->leaf2"), channel("leaf2->spine1"), channel("spine1->leaf1"),
                               channel("leaf1->host1")});
  }
  /// The share of the paths that cross it, 0 where none does.
  double share_of(std::span<const Crossing> crossed, const Crossings& all, std::uint32_t suspect) const {
    for (const Crossing& crossing : crossed)
      if (crossing.suspect == suspect) return all.shares()[crossing.share];
    return 0;
  }
  std::uint32_t node(std::string_view name) const {
    return static_cast<std::uint32_t>(fabric_.channel_count()) + fabric_.find_node(name)->value();
  }

  Fabric fabric_ = *make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 1});
  Observations seen_;
};

std::size_t distinct(std::span<const Crossing> crossed) {
  std::set<std::uint32_t> suspects;
  for (const Crossing& crossing : crossed) suspects.insert(crossing.suspect);
  return suspects.size();
}

TEST_F(CrossingsOfAPair, OfOnePathAreItsChannelsAndItsNodesWhole) {
  seen_.probes = {{.path = seen_.paths.only(path("spine1")), .sent = 10, .size = Bytes(128)}};
  Crossings all(fabric_, seen_);
  const auto crossed = all.of(0);
  EXPECT_EQ(crossed.size(), 4u + 5u);
  EXPECT_EQ(distinct(crossed), crossed.size());
  EXPECT_EQ(share_of(crossed, all, channel("leaf1->spine1").value()), 1);
  EXPECT_EQ(share_of(crossed, all, node("spine1")), 1);
  EXPECT_EQ(share_of(crossed, all, channel("leaf1->spine2").value()), 0);
  EXPECT_EQ(share_of(crossed, all, node("host1")), 1) << "a path begins at a node too";
}

TEST_F(CrossingsOfAPair, OfASetOfPathsAreWithTheShareThatCrossesThem) {
  const std::vector both{path("spine1"), path("spine2")};
  seen_.probes = {{.path = seen_.paths.intern_set(both), .sent = 10, .size = Bytes(128)}};
  Crossings all(fabric_, seen_);
  const auto crossed = all.of(0);
  EXPECT_EQ(distinct(crossed), crossed.size()) << "each once";
  EXPECT_EQ(share_of(crossed, all, channel("host1->leaf1").value()), 1);
  EXPECT_EQ(share_of(crossed, all, channel("leaf1->spine1").value()), 0.5);
  EXPECT_EQ(share_of(crossed, all, node("spine2")), 0.5);
}

TEST_F(CrossingsOfAPair, OfARoundTripANodeIsCrossedOnceThoughTheAnswerComesBackThere) {
  seen_.probes = {{.path = seen_.paths.only(path("spine1")),
                   .back = seen_.paths.only(path_back()),
                   .sent = 10,
                   .size = Bytes(128)}};
  Crossings all(fabric_, seen_);
  const auto crossed = all.of(0);
  EXPECT_EQ(crossed.size(), 8u + 5u);
  EXPECT_EQ(distinct(crossed), crossed.size());
  EXPECT_EQ(share_of(crossed, all, node("spine1")), 1);
  EXPECT_EQ(share_of(crossed, all, channel("spine1->leaf1").value()), 1);
}

TEST_F(CrossingsOfAPair, LargePacketsCrossWhatHarmsLargeOnesAloneAndSmallOnesDoNot) {
  const auto over = seen_.paths.only(path("spine1"));
  seen_.probes = {{.path = over, .sent = 10, .size = Bytes(4160)},
                  {.path = over, .sent = 10, .size = Bytes(128)}};
  Crossings all(fabric_, seen_);
  EXPECT_EQ(all.extra_sizes(), 1u);
  EXPECT_EQ(all.size_of(1), Bytes(4160));
  EXPECT_EQ(all.size_below(1), Bytes(128));
  const auto base = static_cast<std::uint32_t>(all.of_all_sizes());
  const auto suspect = channel("leaf1->spine1").value();
  const auto large = all.of(0);
  EXPECT_EQ(large.size(), 18u);
  EXPECT_EQ(share_of(large, all, base + suspect), 1);
  EXPECT_EQ(share_of(large, all, suspect), 1);
  const auto small = all.of(1);
  EXPECT_EQ(small.size(), 9u);
  EXPECT_EQ(share_of(small, all, base + suspect), 0);
}

TEST_F(CrossingsOfAPair, SizesThatVaryFreelyAreFewClasses) {
  const auto over = seen_.paths.only(path("spine1"));
  for (int size = 100; size < 1100; ++size)
    seen_.probes.push_back({.path = over, .sent = 1, .size = Bytes(size)});
  EXPECT_LT(Crossings(fabric_, seen_).extra_sizes(), 16u);
}

TEST_F(CrossingsOfAPair, WithoutProbesThereIsOneSize) {
  EXPECT_EQ(Crossings(fabric_, seen_).extra_sizes(), 0u);
}

}  // namespace
}  // namespace weft::diagnosis
