#include "balancer/demand/flow_file.hpp"

#include <gtest/gtest.h>

#include "balancer/demand/collectives.hpp"
#include "tests/support/flow_text.hpp"
#include "topology/model/clos.hpp"

namespace weft::demand {
namespace {

Fabric four() { return *make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 2}); }

std::string why(std::string_view line) {
  const auto file = read_flows(four(), line);
  return file.refused.size() == 1 ? file.refused[0].why : "";
}

TEST(FlowFile, ReadsALineAFlowAndPassesOverEmptyOnes) {
  const auto fabric = four();
  const auto file = read_flows(fabric,
                               "{\"src\":\"host1\",\"dst\":\"host3\",\"bytes\":1e6}\n\n"
                               "{\"src\":\"host2/p1\",\"dst\":\"host4\",\"bytes\":5,\"job\":\"a\"}\r\n");
  ASSERT_EQ(file.demand.phases.size(), 1u);
  EXPECT_TRUE(file.refused.empty());
  EXPECT_EQ(file.demand.phases[0].flows[0],
            (Flow{*fabric.find_nic("host1"), *fabric.find_nic("host3"), Bytes(1'000'000)}));
}

TEST(FlowFile, ABadLineIsNamedAndTheRestIsRead) {
  const auto file = read_flows(four(),
                               "{\"src\":\"host1\",\"dst\":\"host99\",\"bytes\":1}\n"
                               "no json\n"
                               "{\"src\":\"host1\",\"dst\":\"host2\",\"bytes\":1}\n");
  ASSERT_EQ(file.refused.size(), 2u);
  EXPECT_EQ(file.refused[0].flow, "line 1: host1 -> host99");
  EXPECT_EQ(file.refused[1].flow, "line 2");
  EXPECT_EQ(file.demand.phases[0].flows.size(), 1u);
}

TEST(FlowFile, ZeroNegativeAndAbsurdSizesAreRefused) {
  EXPECT_EQ(why("{\"src\":\"host1\",\"dst\":\"host2\",\"bytes\":0}"),
            "0 bytes: expected 1 to 1000000000000000");
  EXPECT_EQ(why("{\"src\":\"host1\",\"dst\":\"host2\",\"bytes\":-5}"),
            "-5 bytes: expected 1 to 1000000000000000");
  EXPECT_EQ(why("{\"src\":\"host1\",\"dst\":\"host2\",\"bytes\":1e300}"),
            "1e+300 bytes: expected 1 to 1000000000000000");
  EXPECT_EQ(why("{\"src\":\"host1\",\"dst\":\"host2\",\"bytes\":\"5\"}"),
            "\"bytes\" is missing or no number");
  EXPECT_EQ(why("{\"src\":\"leaf1\",\"dst\":\"host2\",\"bytes\":5}"), "'leaf1' is a switch: expected a host");
  EXPECT_EQ(why("{\"src\":\"host1\",\"dst\":\"host2\",\"bytes\":5,\"phase\":0}"),
            "\"phase\" is 0: expected 1 to 4096");
}

TEST(FlowFile, WhatIsWrittenReadsBack) {
  const auto fabric = four();
  const auto demand = make_collective(Collective::recursive_doubling, fabric.nics(), Bytes(100));
  const auto file = read_flows(fabric, write_flows(fabric, demand));
  ASSERT_TRUE(file.refused.empty());
  ASSERT_EQ(file.demand.phases.size(), demand.phases.size());
  for (std::size_t p = 0; p < demand.phases.size(); ++p)
    EXPECT_EQ(file.demand.phases[p].flows, demand.phases[p].flows);
}

}  // namespace
}  // namespace weft::demand
