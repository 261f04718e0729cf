// What is one whole number and nothing else.
#include "topology/base/whole_number.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace weft {
namespace {

TEST(WholeNumber, IsAllOfItsText) {
  EXPECT_EQ(parse_whole_number<unsigned>("0"), 0u);
  EXPECT_EQ(parse_whole_number<unsigned>("0042"), 42u);
  EXPECT_EQ(parse_whole_number<std::uint64_t>("0002C903007e5220", 16), 0x0002c903007e5220u);
  for (const char* text : {"", " 1", "1 ", "-1", "+1", "1.0", "0x1", "x"})
    EXPECT_FALSE(parse_whole_number<unsigned>(text)) << text;
  EXPECT_FALSE(parse_whole_number<std::uint64_t>("0x1", 16));
}

TEST(WholeNumber, FitsItsType) {
  EXPECT_EQ(parse_whole_number<std::uint16_t>("65535"), 65535);
  EXPECT_FALSE(parse_whole_number<std::uint16_t>("65536"));
  EXPECT_FALSE(parse_whole_number<std::uint64_t>("10000000000000000", 16));
}

}  // namespace
}  // namespace weft
