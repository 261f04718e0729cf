#include "probes/diagnosis/counts/intermittence.hpp"

#include <gtest/gtest.h>

#include "topology/model/clos.hpp"

namespace weft::diagnosis {
namespace {

using namespace std::chrono_literals;

/// host1 to host2 by spine1, a packet a millisecond.
class IntermittenceOfAChannel : public testing::Test {
 protected:
  ChannelId channel(std::string_view name) const { return *fabric_.find_channel(name); }
  void sent(Nanoseconds start, std::uint64_t packets, std::vector<LossRun> runs) {
    std::uint64_t lost = 0;
    for (const LossRun& run : runs) lost += run.count;
    const auto path = seen_.paths.intern({channel("host1->leaf1"), channel("leaf1->spine1"),
                                          channel("spine1->leaf2"), channel("leaf2->host2")});
    seen_.probes.push_back({.path = seen_.paths.only(path),
                            .sent = packets,
                            .lost = lost,
                            .size = Bytes(128),
                            .window = TimeWindow{start, std::chrono::milliseconds(packets)},
                            .runs = std::move(runs)});
  }
  std::optional<Intermittence> of(std::string_view name, const std::vector<ChannelId>& others = {}) const {
    return intermittence_of(seen_, channel(name), others);
  }

  Fabric fabric_ = *make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 1});
  Observations seen_;
};

TEST_F(IntermittenceOfAChannel, IsHowOftenItGoesOutAndForHowLong) {
  sent(0s, 10'000, {{1000, 1000}, {5000, 1000}});
  const auto comes_and_goes = of("leaf1->spine1");
  ASSERT_TRUE(comes_and_goes);
  EXPECT_NEAR(comes_and_goes->per_second, 0.2, 1e-6);
  EXPECT_NEAR(comes_and_goes->duration, 1.0, 0.01);
}

TEST_F(IntermittenceOfAChannel, NeitherTheOrderOfRowsNorPausesBetweenThemCount) {
  sent(100s, 5000, {{1000, 1000}});
  sent(0s, 5000, {{1000, 1000}});
  const auto comes_and_goes = of("leaf1->spine1");
  ASSERT_TRUE(comes_and_goes);
  EXPECT_NEAR(comes_and_goes->per_second, 0.2, 1e-6) << "two in the ten seconds of packets";
  EXPECT_NEAR(comes_and_goes->duration, 1.0, 0.01);
}

TEST_F(IntermittenceOfAChannel, ASteadyLossIsNone) {
  std::vector<LossRun> every_fifth;
  for (std::uint32_t first = 0; first < 10'000; first += 5) every_fifth.push_back({first, 1});
  sent(0s, 10'000, every_fifth);
  EXPECT_FALSE(of("leaf1->spine1"));
}

TEST_F(IntermittenceOfAChannel, FewLossesAreNoRhythmAndNeitherIsADeadChannel) {
  sent(0s, 10'000, {{1000, 9}});
  EXPECT_FALSE(of("leaf1->spine1"));
  seen_.probes.clear();
  sent(0s, 10'000, {{0, 10'000}});
  EXPECT_FALSE(of("leaf1->spine1"));
}

TEST_F(IntermittenceOfAChannel, RowsThatCrossAnotherFaultSayNothing) {
  sent(0s, 10'000, {{1000, 1000}, {5000, 1000}});
  EXPECT_FALSE(of("leaf1->spine1", {channel("spine1->leaf2")}));
  EXPECT_TRUE(of("leaf1->spine1", {channel("spine2->leaf2")}));
}

TEST_F(IntermittenceOfAChannel, RowsOfOtherChannelsAndThoseThatDoNotTellWhenSayNothing) {
  sent(0s, 10'000, {{1000, 1000}, {5000, 1000}});
  EXPECT_FALSE(of("leaf1->spine2"));
  seen_.probes[0].window.reset();
  EXPECT_FALSE(of("leaf1->spine1"));
}

}  // namespace
}  // namespace weft::diagnosis
