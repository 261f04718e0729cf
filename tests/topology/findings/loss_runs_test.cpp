#include "topology/findings/loss_runs.hpp"

#include <gtest/gtest.h>

#include <random>

namespace weft {
namespace {

using Runs = std::vector<LossRun>;

TEST(LossRuns, RefusesWhatIsNoOrderOfLosses) {
  EXPECT_TRUE(are_loss_runs(Runs{}, 0));
  EXPECT_TRUE(are_loss_runs(Runs{{0, 2}, {5, 1}}, 6));
  EXPECT_FALSE(are_loss_runs(Runs{{0, 2}, {5, 2}}, 6)) << "beyond the row";
  EXPECT_FALSE(are_loss_runs(Runs{{5, 1}, {0, 2}}, 6)) << "out of order";
  EXPECT_FALSE(are_loss_runs(Runs{{0, 3}, {2, 1}}, 6)) << "overlap";
  EXPECT_FALSE(are_loss_runs(Runs{{0, 0}}, 6)) << "of nothing";
  EXPECT_FALSE(are_loss_runs(Runs{{0xFFFFFFFF, 0xFFFFFFFF}}, 1000));
  EXPECT_FALSE(are_loss_runs(Runs(kMaxLossRuns + 1, {0, 1}), 1000)) << "too many";
}

TEST(LossRuns, WhatGoesOnWithoutAPacketBetweenIsOneRun) {
  EXPECT_EQ(runs_apart(Runs{}), 0u);
  EXPECT_EQ(runs_apart(Runs{{3, 2}}), 1u);
  EXPECT_EQ(runs_apart(Runs{{0, 2}, {2, 1}, {4, 1}, {5, 3}}), 2u);
}

TEST(LossRuns, MoreRunsThanARowKeepsAreNotKept) {
  const auto every_other = [](std::uint32_t packet) { return packet % 2 == 0; };
  EXPECT_EQ(loss_runs(2 * kMaxLossRuns, every_other).value().size(), kMaxLossRuns);
  EXPECT_FALSE(loss_runs(2 * kMaxLossRuns + 1, every_other));
}

TEST(LossRuns, TheWayBackIsCountedAmongThePacketsThatArrived) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<int> fate(120);  // 0: answered, 1: lost there, 2: lost back
    for (int& each : fate) each = static_cast<int>(std::max<std::uint32_t>(random() % 8, 5) - 5);
    std::vector<int> arrived;
    for (const int each : fate)
      if (each != 1) arrived.push_back(each);
    const auto there = loss_runs(120, [&](std::uint32_t packet) { return fate[packet] == 1; });
    const auto neither = loss_runs(120, [&](std::uint32_t packet) { return fate[packet] != 0; });
    const auto back = loss_runs(static_cast<std::uint32_t>(arrived.size()),
                                [&](std::uint32_t packet) { return arrived[packet] == 2; });
    EXPECT_EQ(lost_on_the_way_back(there.value(), neither.value()), back.value());
  }
}

}  // namespace
}  // namespace weft
