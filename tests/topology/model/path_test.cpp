#include "topology/model/path.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

namespace weft {
namespace {

TEST(PathTable, TheSameChannelsAreTheSamePath) {
  PathTable table;
  const auto one = table.intern({ChannelId(1), ChannelId(5)});
  const auto other = table.intern({ChannelId(5), ChannelId(1)});
  EXPECT_NE(one, other);
  EXPECT_EQ(table.intern({ChannelId(1), ChannelId(5)}), one);
  EXPECT_EQ(table.path_count(), 2u);
  EXPECT_EQ(table.channels(other)[0], ChannelId(5));
}

TEST(PathTable, ASetForgetsOrderAndRepeats) {
  PathTable table;
  const auto a = table.intern({ChannelId(1)});
  const auto b = table.intern({ChannelId(2)});
  const std::vector forward{a, b};
  const std::vector backward{b, a, b};
  EXPECT_EQ(table.intern_set(forward), table.intern_set(backward));
  EXPECT_NE(table.only(a), table.only(b));
  EXPECT_EQ(table.paths(table.intern_set(backward)).size(), 2u);
}

// Against a map: lengths from none to six, many rows that differ in one id alone, each asked for several
// times.
TEST(PathTable, ThousandsOfPathsKeepTheirIds) {
  std::mt19937 random(7);
  PathTable table;
  std::map<std::vector<ChannelId>, PathId> expected;
  for (int turn = 0; turn < 20'000; ++turn) {
    std::vector<ChannelId> channels(random() % 7);
    for (ChannelId& channel : channels) channel = ChannelId(random() % 8);
    const PathId id = table.intern(channels);
    EXPECT_EQ(expected.emplace(channels, id).first->second, id);
  }
  ASSERT_EQ(table.path_count(), expected.size());
  for (const auto& [channels, id] : expected)
    EXPECT_TRUE(std::ranges::equal(table.channels(id), channels)) << id.value();
}

}  // namespace
}  // namespace weft
