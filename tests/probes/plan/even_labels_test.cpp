#include "probes/plan/path_learner.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/support/traced_fabric.hpp"
#include "topology/model/clos.hpp"

namespace weft::plan {
namespace {

/// host1 and host2 over four spines.
struct TracedPair {
  Fabric fabric = *make_clos({.leaves = 2, .spines = 4, .hosts_per_leaf = 1});
  AddressPlan addresses = *plan_addresses(fabric, IpFamily::v4);
  PathTable table;
  PathLearner learner{fabric, addresses.book, table};
  PortId src = *fabric.find_nic("host1");
  PortId dst = *fabric.find_nic("host2");

  /// So many labels each, from 50000 on.
  explicit TracedPair(const std::vector<std::size_t>& by_spine) {
    std::uint32_t label = 50'000;
    for (std::size_t spine = 0; spine < by_spine.size(); ++spine)
      for (std::size_t i = 0; i < by_spine[spine]; ++i) trace(label++, spine);
  }
  void trace(std::uint32_t label, std::size_t spine, bool reached = true) {
    const auto path = path_by_choice(fabric, learner.ways(), src, dst, spine);
    EXPECT_TRUE(
        learner.learn(src, dst, PathLabel(label),
                      answers_along(fabric, addresses.book, path, reached ? path.size() : path.size() - 1)));
  }
  std::vector<PathLabel> labels(std::size_t count) {
    return even_labels(table, *learner.find(src, dst), count);
  }
  /// Queue pairs on each path.
  std::map<PathSetId, std::size_t> spread(const std::vector<PathLabel>& labels) {
    std::map<PathSetId, std::size_t> counts;
    for (const Route& route : learner.find(src, dst)->routes)
      counts[route.paths] += static_cast<std::size_t>(std::ranges::count(labels, route.label));
    return counts;
  }
};

TEST(EvenLabels, LeaveAnyTwoPathsWithNumbersOneApartAtMost) {
  TracedPair pair({1, 9, 2, 5});
  for (const std::size_t count : {1, 3, 4, 11, 12, 64}) {
    const auto labels = pair.labels(count);
    EXPECT_EQ(labels.size(), count);
    const auto spread = pair.spread(labels);
    ASSERT_EQ(spread.size(), 4u);
    for (const auto& [path, queue_pairs] : spread) {
      EXPECT_GE(queue_pairs, count / 4);
      EXPECT_LE(queue_pairs, (count + 3) / 4);
    }
  }
}

TEST(EvenLabels, TakeTheLabelsOfAPathInTurn) {
  TracedPair pair({3, 3, 3, 3});
  const auto labels = pair.labels(12);
  EXPECT_EQ(std::set<PathLabel>(labels.begin(), labels.end()).size(), 12u);
  EXPECT_EQ(pair.labels(24)[12], labels[0]);
}

TEST(EvenLabels, AreTheSameInWhateverOrderTheyWereLearned) {
  TracedPair pair({});
  TracedPair other({});
  for (std::uint32_t i = 0; i < 8; ++i) {
    pair.trace(50'000 + i, i % 4);
    other.trace(50'007 - i, (7 - i) % 4);
  }
  EXPECT_EQ(pair.labels(6), other.labels(6));
}

TEST(EvenLabels, LeaveOutWhatDidNotReachThePeerAndWhatMayTakeSeveralPaths) {
  TracedPair pair({1, 1});
  pair.trace(50'100, 2, false);
  std::vector<std::vector<ChannelId>> several;
  for (const std::size_t spine : {2, 3})
    several.push_back(path_by_choice(pair.fabric, pair.learner.ways(), pair.src, pair.dst, spine));
  pair.learner.adopt(pair.src, pair.dst, PathLabel(50'101), several);
  const auto labels = pair.labels(8);
  EXPECT_EQ(std::set<PathLabel>(labels.begin(), labels.end()),
            (std::set<PathLabel>{PathLabel(50'000), PathLabel(50'001)}));
}

TEST(EvenLabels, AreNoneWhereNoRouteServes) {
  TracedPair pair({});
  pair.trace(50'000, 0, false);
  EXPECT_TRUE(pair.labels(4).empty());
}

}  // namespace
}  // namespace weft::plan
