#include "topology/base/utc.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(UtcTime, ReadsBackWhatItWrites) {
  for (const auto* text : {"1970-01-01T00:00:00Z", "2026-01-31T12:34:56Z", "2024-02-29T23:59:59Z"}) {
    const auto time = parse_utc(text);
    ASSERT_TRUE(time) << text;
    EXPECT_EQ(to_string(*time), text);
  }
  EXPECT_EQ(parse_utc("1970-01-02T00:00:01Z")->time_since_epoch().count(), 86401);
}

TEST(UtcTime, RefusesOtherFormsAndDaysThatNoMonthHas) {
  for (const auto* text : {"", "now", "2026-01-31", "2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z",
                           "2026-01-31T24:00:00Z", "2026-01-31T12:00:00+01", "2026-01-31 12:00:00Z"})
    EXPECT_FALSE(parse_utc(text)) << text;
}

}  // namespace
}  // namespace weft
