#include "probes/diagnosis/counts/flow_paths.hpp"

#include <gtest/gtest.h>

#include "tests/probes/diagnosis/made_up_run.hpp"
#include "topology/model/fabric.hpp"

namespace weft::diagnosis {
namespace {

/// A flow of which it is known only that it took one of four spines from host1 to host5.
struct FlowOfFour {
  FlowOfFour(std::uint64_t sent, std::uint64_t lost, Bytes size = Bytes(128)) {
    std::vector<PathId> paths;
    for (std::uint32_t spine = 0; spine < 4; ++spine)
      paths.push_back(run.seen.paths.intern(run.path(0, 4, spine)));
    run.seen.probes.push_back(
        {.path = run.seen.paths.intern_set(paths), .sent = sent, .lost = lost, .size = size});
    known.resize(run.fabric.channel_count());
  }
  FlowLoss& over(const char* channel) { return known[run.channel(channel).value()]; }
  bool narrow() { return narrow_paths(run.seen, Counted::loss, known); }
  std::size_t left() const { return run.seen.paths.paths(run.seen.probes[0].path).size(); }
  bool may_cross(const char* channel) const {
    bool crosses = false;
    for (const PathId path : run.seen.paths.paths(run.seen.probes[0].path))
      for (const ChannelId c : run.seen.paths.channels(path)) crosses |= c == run.channel(channel);
    return crosses;
  }

  MadeUpRun run{1};
  std::vector<FlowLoss> known;
};

TEST(FlowPaths, OneThatLostItsShareTookTheLossyWay) {
  FlowOfFour flow(500, 350);
  flow.over("leaf1->spine2") = {.share = 0.7};
  EXPECT_TRUE(flow.narrow());
  EXPECT_EQ(flow.left(), 1u);
  EXPECT_TRUE(flow.may_cross("leaf1->spine2"));
}

TEST(FlowPaths, OneThatLostNothingTookAnother) {
  FlowOfFour flow(500, 0);
  flow.over("leaf1->spine2") = {.share = 0.7};
  EXPECT_TRUE(flow.narrow());
  EXPECT_EQ(flow.left(), 3u);
  EXPECT_FALSE(flow.may_cross("leaf1->spine2"));
}

TEST(FlowPaths, PacketsSpreadOverAllWaysStaySo) {
  FlowOfFour flow(500, 88);  // a quarter of 70 %
  flow.over("leaf1->spine2") = {.share = 0.7};
  EXPECT_FALSE(flow.narrow());
  EXPECT_EQ(flow.left(), 4u);
}

TEST(FlowPaths, SmallPacketsPassWhereALimitSwallowsLargeOnes) {
  FlowOfFour small(500, 0, Bytes(128));
  small.over("leaf1->spine2") = {.share = 1, .passes = Bytes(1500)};
  EXPECT_FALSE(small.narrow());
  FlowOfFour large(500, 500, Bytes(4160));
  large.over("leaf1->spine2") = {.share = 1, .passes = Bytes(1500)};
  EXPECT_TRUE(large.narrow());
  EXPECT_TRUE(large.may_cross("leaf1->spine2"));
  EXPECT_EQ(large.left(), 1u);
}

TEST(FlowPaths, NothingKnownNarrowsNothing) {
  FlowOfFour flow(500, 350);
  EXPECT_FALSE(flow.narrow());
}

}  // namespace
}  // namespace weft::diagnosis
