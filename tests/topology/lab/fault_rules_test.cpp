#include "topology/lab/netns/fault_rules.hpp"

#include <gtest/gtest.h>

#include "topology/model/clos.hpp"

namespace weft::lab {
namespace {

struct Rules {
  Fabric fabric = make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 1}).value();
  std::map<ChannelId, ChannelFault> faults;

  ChannelId channel(std::string_view name) const { return fabric.find_channel(name).value(); }
  std::string at(std::string_view node) const {
    return filter_rules(fabric, fabric.find_node(node).value(), faults);
  }
};

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(FaultRules, JudgeAChannelWhereItComesIntoASwitchOrLeavesForAHost) {
  const Rules rules;
  const auto name_at = [&](std::string_view channel) {
    const JudgedAt at = judged_at(rules.fabric, rules.channel(channel));
    const Port& port = rules.fabric.port(at.port);
    return fmt::format("{} {} {}", rules.fabric.name_of(port.node), port.number.value(),
                       at.incoming ? "in" : "out");
  };
  EXPECT_EQ(name_at("leaf1->spine2"), "spine2 1 in");
  EXPECT_EQ(name_at("host1->leaf1"), "leaf1 1 in");
  EXPECT_EQ(name_at("leaf1->host1"), "leaf1 1 out");
}

TEST(FaultRules, DropTheShareAndTheSizeAsked) {
  Rules rules;
  rules.faults[rules.channel("leaf1->spine2")] = {.loss = Fraction::percent(0.5), .mtu = Bytes(1000)};
  const auto script = rules.at("spine2");
  EXPECT_TRUE(has(script, "iifname \"p1\" meta length > 1000 drop\n")) << script;
  EXPECT_TRUE(has(script, "iifname \"p1\" numgen random mod 1000000 < 5000 drop\n")) << script;
}

TEST(FaultRules, DrawNothingForAllAndDropNothingForNone) {
  Rules rules;
  rules.faults[rules.channel("leaf1->spine2")] = {.loss = Fraction::percent(100)};
  EXPECT_TRUE(has(rules.at("spine2"), "iifname \"p1\" drop\n"));
  rules.faults[rules.channel("leaf1->spine2")] = {.loss = Fraction::percent(0)};
  EXPECT_FALSE(has(rules.at("spine2"), " drop\n"));
}

TEST(FaultRules, StandOnlyAtTheNodeThatJudges) {
  Rules rules;
  rules.faults[rules.channel("leaf1->spine2")] = {.loss = Fraction::percent(1)};
  EXPECT_EQ(rules.at("leaf1"), "table inet weft_faults\ndelete table inet weft_faults\n")
      << "what was there before is taken away";
}

TEST(FaultRules, FeedOneQueueForEachDirectionOfAPort) {
  const Rules rules;
  EXPECT_NE(delay_queue(rules.fabric, rules.channel("host1->leaf1")),
            delay_queue(rules.fabric, rules.channel("leaf1->host1")));
  const auto rule = delay_rule(rules.fabric, IpFamily::v6, rules.channel("leaf1->host1"), "-A");
  EXPECT_EQ(rule[0], "ip6tables");
  EXPECT_EQ(rule[4], "POSTROUTING");
  EXPECT_EQ(rule.back(), "--queue-bypass") << "a dead holder delays nothing and loses nothing";
}

TEST(ChannelFaultTest, TakesTheLaterSettingAndKeepsTheOthers) {
  const ChannelFault before{.loss = Fraction::percent(1), .rate = Bandwidth::mbit(5)};
  const ChannelFault after =
      merged(before, {.link = LinkId(0), .loss = Fraction::percent(2), .mtu = Bytes(900)});
  EXPECT_EQ(after.loss, Fraction::percent(2));
  EXPECT_EQ(after.rate, Bandwidth::mbit(5));
  EXPECT_EQ(after.mtu, Bytes(900));
  EXPECT_TRUE(ChannelFault{}.nothing());
  EXPECT_FALSE(after.nothing());
}

}  // namespace
}  // namespace weft::lab
