#include "topology/base/readable.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(Readable, ARateHasThreeDigitsAndTheUnitsName) {
  EXPECT_EQ(readable(Bandwidth::gbit(400)), "400 Gbit/s");
  EXPECT_EQ(readable(Bandwidth::mbit(12.5)), "12.5 Mbit/s");
  EXPECT_EQ(readable(Bandwidth::mbit(9.5312)), "9.53 Mbit/s");
  EXPECT_EQ(readable(Bandwidth::mbit(999.7)), "1 Gbit/s");
  EXPECT_EQ(readable(Bandwidth::bit(1e16)), "10000 Tbit/s");
  EXPECT_EQ(readable(Bandwidth()), "0 bit/s");
}

TEST(Readable, SizesOfPacketsAreExact) {
  EXPECT_EQ(readable(Bytes(4096)), "4096 bytes");
  EXPECT_EQ(readable(Bytes(1)), "1 byte");
  EXPECT_EQ(readable(Bytes(750'000'000)), "750 MB");
  EXPECT_EQ(readable(Bytes(1'500'000'000), '_'), "1.5_GB");
}

TEST(Readable, TimesGoFromMicrosecondsToSeconds) {
  EXPECT_EQ(readable(std::chrono::nanoseconds(1860)), "1.86 us");
  EXPECT_EQ(readable(std::chrono::milliseconds(30)), "30 ms");
  EXPECT_EQ(readable(std::chrono::seconds(1072)), "1072 s");
  EXPECT_EQ(readable(Nanoseconds(0)), "0 us");
}

}  // namespace
}  // namespace weft
