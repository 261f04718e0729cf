#include <gmock/gmock.h>

#include "tests/support/captured_counters.hpp"

namespace weft::counters {
namespace {

using ::testing::IsEmpty;

TEST(Captured, OfEachPublishedOutputAllFieldsAreRead) {
  const auto verdicts = judge_captures();
  EXPECT_GE(verdicts.size(), 30U);
  for (const CaptureVerdict& one : verdicts) EXPECT_THAT(one.wrong, IsEmpty()) << one.file;
}

}  // namespace
}  // namespace weft::counters
