// From which probability on a suspicion gets a name, and until which one further probes are asked for.
#include <gtest/gtest.h>

#include <algorithm>

#include "made_up_run.hpp"
#include "probes/diagnosis/report.hpp"

namespace weft {
namespace {

Verdict verdict_at(double probability, Cause cause) {
  const MadeUpRun run(1);
  Report report(run.fabric);
  report.add(Found{.channels = {run.channel("leaf1->spine2")},
                   .cause = cause,
                   .estimate = Estimate{0.01, 0.01, 0.01},
                   .probability = probability});
  return std::move(report).finish({}).diagnosis.links.front().verdict;
}

TEST(Naming, CountedPacketsNameFromNineInTenOnAndModelsOfNoiseFromNineteenInTwenty) {
  EXPECT_EQ(verdict_at(0.89, Cause::loss), Verdict::unknown);
  EXPECT_EQ(verdict_at(0.91, Cause::loss), Verdict::degraded);
  EXPECT_EQ(verdict_at(0.91, Cause::corruption), Verdict::degraded);
  for (const Cause cause : {Cause::delay, Cause::rate, Cause::congestion}) {
    EXPECT_EQ(verdict_at(0.91, cause), Verdict::unknown) << to_string(cause);
    EXPECT_NE(verdict_at(0.96, cause), Verdict::unknown) << to_string(cause);
  }
}

TEST(Naming, WhatIsNamedAndNotYetSureIsStillAsked) {
  std::size_t met = 0;
  for (std::uint64_t seed = 1; seed <= 300 && met < 3; ++seed) {
    MadeUpRun run(seed);
    run.fault("leaf2->spine3").loss = 0.0015;
    run.background = 5e-5;
    run.probe(1000, 100);
    const Assessment assessment = assess(run.fabric, run.seen);
    for (const LinkFinding& finding : assessment.diagnosis.links) {
      if (finding.verdict == Verdict::unknown || finding.confidence >= kSure) continue;
      ++met;
      EXPECT_TRUE(std::ranges::any_of(assessment.doubts, [&](const Doubt& doubt) {
        return std::ranges::find(doubt.channels, *finding.channel) != doubt.channels.end();
      })) << seed;
    }
  }
  EXPECT_EQ(met, 3u);
}

}  // namespace
}  // namespace weft
