// Where a side is slow, what was counted of congestion, and what cannot be told.
#include "collectors/compare/slow_places.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectors/compare/congestion_counts.hpp"
#include "tests/support/compared_site.hpp"

namespace weft::compare {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::vector<MeasuredRun> runs_of(const ComparedSite& site, std::uint64_t seed = 1) {
  SplitMix64 random(seed);
  std::vector<MeasuredRun> runs;
  for (int i = 0; i < 12; ++i) runs.push_back(site.run(random));
  return runs;
}

std::vector<std::string> told_of(const ComparedSite& site) {
  std::vector<std::string> told;
  for (const SlowPlace& place : slow_places(runs_of(site))) told.push_back(to_string(place));
  return told;
}

TEST(SlowPlaces, AHostThatHoldsItsFlowsBackIsNamed) {
  EXPECT_THAT(told_of({.left = 0.4, .held = "host3"}),
              ElementsAre("flows from host3 get 60 % less than others"));
}

TEST(SlowPlaces, ASlowCableShowsInTheFlowsOfItsHost) {
  EXPECT_THAT(told_of({.slow = "leaf1->host3", .left = 0.5}),
              ElementsAre("flows to host3 get 47 % less than others"));
}

TEST(SlowPlaces, RoundTripsOfAHostTakeLonger) {
  EXPECT_THAT(told_of({.slow = "leaf1->host3", .of_channel = 20e-6}),
              Contains(HasSubstr("round trips of host3 take")));
}

TEST(SlowPlaces, NothingIsNamedWhereAllAreAlikeOrRunsAreFew) {
  for (std::uint64_t seed = 1; seed < 20; ++seed)
    EXPECT_THAT(slow_places(runs_of({.noise = 0.035}, seed)), IsEmpty()) << seed;
  auto few = runs_of({.left = 0.4, .held = "host3"});
  few.resize(2);
  EXPECT_THAT(slow_places(few), IsEmpty());
  EXPECT_THAT(slow_places(std::vector<MeasuredRun>(5)), IsEmpty());
}

TEST(CongestionCounts, AreComparedWhereBothSidesReadThem) {
  auto a = runs_of({}), b = a;
  EXPECT_THAT(congestion_counts(a, b), IsEmpty());
  EXPECT_THAT(not_told(a, b), Contains(HasSubstr("A and B: no counters of NICs")));
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i].counted_nics = b[i].counted_nics = 2;
    b[i].grew_a_second["np_cnp_sent"] = 1000.0 + static_cast<double>(i);
    a[i].grew_a_second["out_of_sequence"] = b[i].grew_a_second["out_of_sequence"] =
        static_cast<double>(i % 3);
  }
  const auto counts = congestion_counts(a, b);
  ASSERT_EQ(counts.size(), 2U);
  EXPECT_TRUE(counts[0].differs);
  EXPECT_EQ(to_string(counts[0]), "np_cnp_sent: 0 a second and NIC on A, 503 on B");
  EXPECT_FALSE(counts[1].differs);
  EXPECT_THAT(to_string(counts[1]), HasSubstr("no difference is proven"));
  EXPECT_THAT(not_told(a, b), Not(Contains(HasSubstr("counters"))));
}

TEST(NotTold, SaysWhichSideLacksWhat) {
  auto a = runs_of({}), b = runs_of({.is_known = false});
  for (MeasuredRun& run : b) run.flows.clear();
  EXPECT_THAT(not_told(a, b), Contains(HasSubstr("B: nothing was loaded")));
  EXPECT_THAT(not_told(a, b), Contains(HasSubstr("B: the fabric's design is not known")));
  EXPECT_THAT(not_told(a, b), Not(Contains(HasSubstr("round trips"))));
  EXPECT_THAT(not_told({}, {}), IsEmpty());
}

}  // namespace
}  // namespace weft::compare
