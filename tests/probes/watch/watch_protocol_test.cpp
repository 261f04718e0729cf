#include "probes/watch/watch_protocol.hpp"

#include <gtest/gtest.h>

namespace weft::watch {
namespace {

TEST(WatchProtocol, AWatcherSpeaksItsOwnNumberAndTheOneBefore) {
  EXPECT_TRUE(speaks(kWatchProtocol));
  EXPECT_TRUE(speaks(6, 7));
  EXPECT_TRUE(speaks(7, 7));
  EXPECT_FALSE(speaks(8, 7));
  EXPECT_FALSE(speaks(5, 7));
  EXPECT_FALSE(speaks(0, 1)) << "the first is 1";
}

}  // namespace
}  // namespace weft::watch
