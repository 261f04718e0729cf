#include "topology/findings/verdict.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(Verdict, OfWhatTakesPacketsGoesByHowMany) {
  for (const Cause cause : {Cause::loss, Cause::corruption}) {
    EXPECT_EQ(verdict_of(cause, 0.049), Verdict::degraded) << to_string(cause);
    EXPECT_EQ(verdict_of(cause, kFailedLoss), Verdict::failed) << to_string(cause);
  }
  for (const Cause cause : {Cause::rate, Cause::delay, Cause::counter})
    EXPECT_EQ(verdict_of(cause, 1.0), Verdict::degraded) << to_string(cause);
}

}  // namespace
}  // namespace weft
