#include "topology/model/path.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace weft
