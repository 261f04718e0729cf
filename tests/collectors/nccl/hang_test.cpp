// Whole verdicts over simulated jobs: who is named, and that nobody else is.
#include "collectors/nccl/hang.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/hung_job.hpp"

namespace weft::nccl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

HungJobSpec small(JobFault fault, std::uint64_t seed = 1) {
  return {.pods = 2, .hosts_per_pod = 4, .rails = 4, .spines = 4, .fault = fault, .seed = seed};
}

TEST(Hang, OfAJobInWhichAllIsCompletedNothingHangs) {
  const auto told = HungJob(small(JobFault::none)).explain();
  EXPECT_EQ(told.cause, HangCause::none) << told.sentence;
  EXPECT_EQ(told.verdict, Verdict::healthy);
}

struct RankCase {
  JobFault fault;
  HangCause cause;
};
class RankFault : public testing::TestWithParam<RankCase> {};
TEST_P(RankFault, NamesThatRankAndNoLink) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const HungJob job(small(GetParam().fault, seed));
    const auto told = job.explain();
    EXPECT_EQ(told.cause, GetParam().cause) << told.sentence;
    EXPECT_THAT(told.ranks, ElementsAre(*job.faulty_rank)) << told.sentence;
    EXPECT_THAT(told.links, IsEmpty());
  }
}
INSTANTIATE_TEST_SUITE_P(Each, RankFault,
                         testing::Values(RankCase{JobFault::never_entered, HangCause::never_entered},
                                         RankCase{JobFault::dead, HangCause::dead},
                                         RankCase{JobFault::mismatch, HangCause::mismatch},
                                         RankCase{JobFault::host_stopped, HangCause::host},
                                         RankCase{JobFault::gpu_stuck, HangCause::host},
                                         RankCase{JobFault::slow_gpu, HangCause::slow_rank}));

struct LinkCase {
  JobFault fault;
  HangCause cause;
};
class LinkFault : public testing::TestWithParam<LinkCase> {};
TEST_P(LinkFault, NamesTheLink) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const HungJob job(small(GetParam().fault, seed));
    const auto told = job.explain();
    EXPECT_EQ(told.cause, GetParam().cause) << told.sentence;
    ASSERT_THAT(told.links, SizeIs(1)) << told.sentence;
    EXPECT_EQ(told.links.front().link, job.fabric.name_of(Fabric::link_of(*job.faulty_channel)));
    EXPECT_GE(told.links.front().confidence, 0.9);
  }
}
INSTANTIATE_TEST_SUITE_P(Each, LinkFault,
                         testing::Values(LinkCase{JobFault::black_hole, HangCause::network},
                                         LinkCase{JobFault::loss, HangCause::network},
                                         LinkCase{JobFault::slow_channel, HangCause::slow_network}));

}  // namespace
}  // namespace weft::nccl
