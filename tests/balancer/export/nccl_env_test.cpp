// What a job tells NCCL so that it does without NICs that are out of use.
#include "balancer/export/nccl_env.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/model/clos.hpp"

namespace weft::exports {
namespace {

using blacklist::EntryState;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Names = std::vector<std::string>;

class JobEnv : public ::testing::Test {
 protected:
  void add(const std::string& subject, EntryState state = EntryState::active) {
    ledger_.entries.push_back(
        {.id = blacklist::EntryId(ledger_.entries.size() + 1),
         .subject = blacklist::name_of(fabric_, blacklist::parse_subject(fabric_, subject).value()),
         .state = state});
  }
  Result<NcclEnv> env(const Names& hosts, const Names& adapters = {"mlx5_0", "mlx5_3", "mlx5_4:2"}) const {
    return nccl_env(ledger_, fabric_, hosts, adapters);
  }

  // Each group of two hosts has a leaf a rail: host1 and host2 are at leaf1, leaf2 and leaf3.
  Fabric fabric_ = *make_rails({.name = "f", .groups = 2, .hosts_per_group = 2, .rails = 3, .spines = 2});
  blacklist::Ledger ledger_{.fabric = "f"};
};

TEST_F(JobEnv, LeavesOutTheRailsOfItsOwnHostsByTheFullNamesOfTheirAdapters) {
  add("host1/p2"), add("host2--leaf3"), add("host3/p1"), add("leaf1--spine1");
  add("host1/p1", EntryState::probation);
  const auto job = env({"host1", "host2"});
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->ib_hca, "^=mlx5_3:1,mlx5_4:2");
  EXPECT_THAT(job->nics, ElementsAre("host1/p2", "host2/p3"));
  EXPECT_THAT(job->hosts, IsEmpty());
  EXPECT_EQ(env({"host4"})->ib_hca, "") << "nothing is out of use there";
}

TEST_F(JobEnv, NamesHostsThatAreOutOfUseAndTakesNoRailForThem) {
  add("host1"), add("host1/p1"), add("leaf6");
  const auto job = env({"host1", "host2", "host3", "host4"});
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_THAT(job->hosts, ElementsAre("host1", "host3", "host4"));
  EXPECT_EQ(job->ib_hca, "");
}

TEST_F(JobEnv, WithoutANicLeftIsAnErrorThatNamesTheHost) {
  add("host1/p1"), add("host2/p2"), add("host2/p3");
  const auto job = env({"host1", "host2"});
  ASSERT_FALSE(job);
  EXPECT_EQ(job.error().kind, ErrorKind::absent);
  EXPECT_THAT(job.error().message, HasSubstr("host1 would have no NIC left"));
  EXPECT_TRUE(env({"host1"}));
}

TEST_F(JobEnv, WhatIsNotKnownOrNclReadsOtherwiseIsRefused) {
  add("host1/p3");
  EXPECT_THAT(env({"host1"}, {}).error().message, HasSubstr("host1/p3 is not known: name those of a host"));
  EXPECT_THAT(env({"host1"}, {"mlx5_0"}).error().message, HasSubstr("host1/p3 is NIC 3 of its host"));
  EXPECT_FALSE(env({"host9"}));
  EXPECT_FALSE(env({"leaf1"}));
  for (const char* odd : {"", "=mlx5_0", "^mlx5_0", "mlx5_0:x", "mlx5_0:", "a b", "mlx5_0:1:2"})
    EXPECT_FALSE(env({"host1"}, {"mlx5_0", "mlx5_1", odd})) << odd;
}

}  // namespace
}  // namespace weft::exports
