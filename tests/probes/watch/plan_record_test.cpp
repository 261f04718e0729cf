#include "probes/watch/plan_record.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/standing_fleet.hpp"
#include "topology/model/clos.hpp"

namespace weft::watch {
namespace {

using ::testing::ElementsAreArray;

Fabric lab() { return *make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 2}); }

TEST(PlanRecord, GivesThePlanBack) {
  for (const Fabric& fabric :
       {lab(), *make_rails({.groups = 3, .hosts_per_group = 4, .rails = 4, .spines = 4})}) {
    const StandingPlan plan = fleet_plan(fabric, {});
    const auto read = decode_plan(fabric, {}, encode_plan(fabric, plan, {}));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_TRUE(same_ways(plan, *read));
    EXPECT_EQ(read->rows, plan.rows);
    EXPECT_THAT(read->crossings, ElementsAreArray(plan.crossings));
    EXPECT_THAT(read->first_nic, ElementsAreArray(plan.first_nic));
    EXPECT_THAT(read->uncovered, ElementsAreArray(plan.uncovered));
    for (std::size_t i = 0; i < plan.nics.size(); ++i)
      EXPECT_EQ(read->nics[i].packets_per_second, plan.nics[i].packets_per_second);
  }
}

TEST(PlanRecord, OfAnotherFabricOrOfOtherLimitsIsRefused) {
  const Fabric fabric = lab();
  const auto bytes = encode_plan(fabric, fleet_plan(fabric, {}), {});
  const Fabric other = *make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 3});
  EXPECT_EQ(decode_plan(other, {}, bytes).error().kind, ErrorKind::conflict);
  EXPECT_EQ(decode_plan(fabric, {.packets_per_second = 100}, bytes).error().kind, ErrorKind::conflict);
}

TEST(PlanRecord, CutOrChangedItIsAnErrorOrAPlanThatHoldsTogether) {
  const Fabric fabric = *make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 1});
  const auto bytes = encode_plan(fabric, fleet_plan(fabric, {}), {});
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(decode_plan(fabric, {}, std::string_view(bytes).substr(0, size)));
  EXPECT_FALSE(decode_plan(fabric, {}, bytes + '\0'));
  const auto ends = fleet_ends(fabric, fleet_plan(fabric, {}));
  for (std::size_t at = 8; at < bytes.size(); ++at)
    for (const int flip : {1, 2, 0x40, 0x80, 0xff}) {
      auto changed = bytes;
      changed[at] = static_cast<char>(changed[at] ^ flip);
      const auto plan = decode_plan(fabric, {}, changed);
      if (!plan) continue;
      for (const NodeId host : fabric.hosts())  // what it is for: no index of it leads beyond
        static_cast<void>(assignment_of(fabric, *plan, host, PlanVersion(1), ends, KeyEpochs({}, {}), {}));
    }
}

}  // namespace
}  // namespace weft::watch
