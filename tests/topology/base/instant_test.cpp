#include "topology/base/instant.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(Instant, WritesWhatItReadsAndNoMoreDigitsThanItNeeds) {
  for (const std::int64_t ns : {0L, 1L, 1'769'860'800'000'000'000L, 1'769'860'800'250'000'000L,
                                1'769'860'799'999'999'999L, 9'223'372'035'999'999'999L})
    EXPECT_EQ(parse_instant(instant_text(Nanoseconds(ns))), Nanoseconds(ns)) << ns;
  EXPECT_EQ(instant_text(Nanoseconds(1'769'860'800'250'000'000)), "2026-01-31T12:00:00.25Z");
  EXPECT_EQ(instant_text(Nanoseconds(1'769'860'800'000'000'000)), "2026-01-31T12:00:00Z");
}

TEST(Instant, WhatHasAnotherFormOrDoesNotFitIsRefused) {
  for (const char* text :
       {"", "2026-01-31", "2026-01-31T12:00:00", "2026-01-31T12:00:00.Z", "2026-01-31T12:00:00.1",
        "2026-01-31T12:00:00.1234567890Z", "2026-01-31T12:00:00.1xZ", "2026-02-30T12:00:00.1Z",
        "1969-12-31T23:59:59Z", "2300-01-01T00:00:00Z", "2026-01-31T12:00:00.25+01:00"}) {
    const auto read = parse_instant(text);
    ASSERT_FALSE(read) << text;
    EXPECT_THAT(read.error().message, testing::HasSubstr("expected UTC as in"));
  }
}

}  // namespace
}  // namespace weft
