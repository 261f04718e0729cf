#include "topology/findings/flow_result.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft {
namespace {

/// All pairs of `nics` NICs; what one got of its right by `share(src, dst)`.
template <class Share>
std::vector<FlowResult> all_pairs(std::uint32_t nics, Share share) {
  std::vector<FlowResult> flows;
  for (std::uint32_t src = 0; src < nics; ++src)
    for (std::uint32_t dst = 0; dst < nics; ++dst) {
      if (src == dst) continue;
      FlowResult flow{.src = PortId(src), .dst = PortId(dst), .wanted = Bandwidth::mbit(10)};
      flow.delivered = flow.wanted * share(src, dst);
      flows.push_back(flow);
    }
  return flows;
}

TEST(SlowNics, NobodyIsNamedWhereAllGetMuchTheSame) {
  EXPECT_TRUE(
      slow_nics(all_pairs(6, [](auto src, auto dst) { return 0.9 + 0.01 * ((src + dst) % 7); })).empty());
  EXPECT_TRUE(slow_nics(all_pairs(6, [](auto, auto) { return 0.3; })).empty()) << "all alike: nobody is slow";
  EXPECT_TRUE(slow_nics({}).empty());
}

TEST(SlowNics, TheOneWhoReceivesSlowlyIsNamedAndNotThoseWhoSendToIt) {
  const auto named = slow_nics(all_pairs(6, [](auto, auto dst) { return dst == 3 ? 0.4 : 1.0; }));
  ASSERT_EQ(named.size(), 1u);
  EXPECT_EQ(named[0].nic, PortId(3));
  EXPECT_TRUE(named[0].receives);
  EXPECT_EQ(named[0].slow, 5u);
  EXPECT_EQ(named[0].flows, 5u);
}

TEST(SlowNics, SendingAndReceivingAreTwoFaults) {
  const auto named =
      slow_nics(all_pairs(6, [](auto src, auto dst) { return dst == 3 || src == 1 ? 0.4 : 1.0; }));
  ASSERT_EQ(named.size(), 2u);
  EXPECT_NE(named[0].receives, named[1].receives);
}

TEST(SlowNics, OnePairAloneIsAPathsFaultAndNoNics) {
  const auto named =
      slow_nics(all_pairs(6, [](auto src, auto dst) { return src == 2 && dst == 4 ? 0.1 : 1.0; }));
  EXPECT_TRUE(named.empty());
}

TEST(FlowWords, AreReadBack) {
  for (const auto pattern : {LoadPattern::links, LoadPattern::incast, LoadPattern::all_pairs})
    EXPECT_EQ(parse_load_pattern(to_string(pattern)), pattern);
  for (const auto operation : {FlowOperation::write, FlowOperation::read, FlowOperation::send})
    EXPECT_EQ(parse_flow_operation(to_string(operation)), operation);
  EXPECT_FALSE(parse_load_pattern("everything"));
  EXPECT_FALSE(parse_flow_operation(""));
}

}  // namespace
}  // namespace weft
