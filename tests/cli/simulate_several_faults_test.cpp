// What a sweep of a small fabric with several faults, or with one that comes and goes, names: no good cable
// nor host. Each case once named one in most of its seeds.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "tests/support/command.hpp"
#include "tests/support/scratch_file.hpp"

namespace weft::cli {
namespace {

struct Sick {
  const char* fabric;
  std::vector<std::string> faults;
  std::vector<std::string> bad;  // links
  int most_wrong = 0;            // of eight seeds
};

/// The links that are named at .9 and more, those of hosts too.
std::vector<std::string> named_by(const nlohmann::json& document) {
  std::vector<std::string> names;
  for (const char* list : {"links", "hosts"})
    for (const auto& finding : document[list])
      if (finding["verdict"] != "healthy" && finding["verdict"] != "unknown" &&
          finding.value("confidence", 0.0) >= 0.9)
        names.push_back(finding.contains("host") ? finding["host"] : finding["link"]);
  return names;
}

void expect_no_good_name(const Sick& sick) {
  const ScratchFile fabric(sick.fabric);
  int wrong = 0;
  for (int seed = 1; seed <= 8; ++seed) {
    Arguments words{fabric.path(), "-o", "json", "--seed", std::to_string(seed)};
    for (const std::string& fault : sick.faults) words.insert(words.end(), {"--fault", fault});
    const auto outcome = call(simulate_command, words);
    EXPECT_NE(outcome.status, 0) << "seed " << seed;
    const auto names = named_by(nlohmann::json::parse(outcome.out));
    wrong += std::ranges::any_of(
        names, [&](const std::string& name) { return std::ranges::find(sick.bad, name) == sick.bad.end(); });
  }
  EXPECT_LE(wrong, sick.most_wrong);
}

TEST(SimulateSeveralFaults, ACableThatIsDownNowAndThenIsNotTakenForOneOnTheWayToIt) {
  // Of its rows each met another share of the outages: no one loss rate fits them, but runs of losses do.
  expect_no_good_name({.fabric = "fabric: f\nkind: infiniband\nclos: {leaves: 4, spines: 4, "
                                 "hosts_per_leaf: 1, link: 25G}\n",
                       .faults = {"leaf3--spine2:loss=100%,on=300ms,off=900ms"},
                       .bad = {"leaf3--spine2", "host3"}});
}

TEST(SimulateSeveralFaults, CablesLateBothWaysBesideALateHostAreNoFiveOthers) {
  expect_no_good_name(
      {.fabric = "fabric: f\nclos: {leaves: 3, spines: 4, hosts_per_leaf: 1, link: 400G}\n",
       .faults = {"host1--leaf1:delay=300us", "leaf3--spine2:delay=200us", "leaf2--spine2:delay=200us"},
       .bad = {"leaf3--spine2", "leaf2--spine2", "host1"},
       .most_wrong = 2});
}

TEST(SimulateSeveralFaults, ACableThatTwoRoundTripsCrossIsNotPassedOverForTheirHost) {
  expect_no_good_name(
      {.fabric = "fabric: f\nkind: infiniband\nclos: {leaves: 3, spines: 4, "
                 "hosts_per_leaf: 2, link: 100G}\n",
       .faults = {"leaf2--spine1:delay=4ms", "leaf2--spine3:delay=4ms", "host4--leaf2:delay=20ms"},
       .bad = {"leaf2--spine1", "leaf2--spine3", "host4"}});
}

TEST(SimulateSeveralFaults, CablesOfASwitchThatAreDownNowAndThenAreNotAllOfItsCables) {
  expect_no_good_name(
      {.fabric = "fabric: f\nclos: {leaves: 4, spines: 4, hosts_per_leaf: 1}\n",
       .faults = {"leaf1--spine3:loss=100%,on=200ms,off=600ms", "leaf2--spine3:loss=100%,on=200ms,off=600ms",
                  "leaf3--spine3:loss=100%,on=1s,off=3s"},
       .bad = {"leaf1--spine3", "leaf2--spine3", "leaf3--spine3"},
       .most_wrong = 2});
}

TEST(SimulateSeveralFaults, CablesBehindOneChannelThatFlapApartAreNotThatChannel) {
  expect_no_good_name({.fabric = "fabric: f\nclos: {pods: 3, leaves: 1, spines: 1, cores: 2, "
                                 "hosts_per_leaf: 2, link: 400G}\n",
                       .faults = {"spine1--core1:loss=100%,on=180ms,off=122ms,from=spine1",
                                  "spine1--core2:down,on=133ms,off=1379ms,from=spine1"},
                       .bad = {"spine1--core1", "spine1--core2"},
                       .most_wrong = 1});
}

TEST(SimulateSeveralFaults, ACableThatIsNearlyAlwaysDownHasNoMtuLimit) {
  const ScratchFile fabric("fabric: f\nclos: {leaves: 3, spines: 2, hosts_per_leaf: 2}\n");
  for (int seed = 1; seed <= 8; ++seed) {
    const auto outcome = call(simulate_command, {fabric.path(), "-o", "json", "--seed", std::to_string(seed),
                                                 "--fault", "leaf1--spine1:loss=100%,on=4.7s,off=300ms"});
    const auto document = nlohmann::json::parse(outcome.out);  // a loop over its member needs it to live on
    for (const auto& finding : document["links"]) EXPECT_NE(finding["cause"], "mtu") << "seed " << seed;
  }
}

TEST(SimulateSeveralFaults, LargePacketsThatAllFellIntoOutagesTellOfNoMtuLimit) {
  for (const auto& [fabric_line, seed] : {std::pair{"{leaves: 2, spines: 4, hosts_per_leaf: 2}", "3"},
                                          {"{leaves: 2, spines: 4, hosts_per_leaf: 2}", "16"},
                                          {"{leaves: 2, spines: 3, hosts_per_leaf: 2}", "11"}}) {
    const ScratchFile fabric(fmt::format("fabric: f\nclos: {}\n", fabric_line));
    const auto outcome = call(simulate_command, {fabric.path(), "--load", "none", "--seed", seed, "--fault",
                                                 "leaf1--spine1:loss=100%,on=2.9s,off=2s,from=leaf1"});
    EXPECT_EQ(outcome.status, 2) << seed;
    EXPECT_NE(outcome.out.find("  loss  "), std::string::npos) << outcome.out;
    EXPECT_EQ(outcome.out.find("  mtu  "), std::string::npos) << outcome.out;
    EXPECT_NE(outcome.out.find("(MTU)"), std::string::npos) << "none passed: not ruled out";
  }
}

TEST(SimulateSeveralFaults, AnMtuLimitBesideOutagesThatAreShorterIsNamed) {
  const ScratchFile fabric("fabric: f\nclos: {leaves: 3, spines: 2, hosts_per_leaf: 2}\n");
  for (int seed = 1; seed <= 6; ++seed) {
    const auto outcome =
        call(simulate_command, {fabric.path(), "--load", "none", "--seed", std::to_string(seed), "--fault",
                                "leaf1--spine1:mtu=1500,from=leaf1", "--fault",
                                "leaf1--spine1:loss=100%,on=0.3s,off=1.2s,from=leaf1"});
    EXPECT_NE(outcome.out.find("  mtu  "), std::string::npos) << seed << outcome.out;
  }
}

TEST(SimulateSeveralFaults, OtherTrafficFromAHostIsNoReasonToReplaceItsCableAtOnce) {
  const ScratchFile fabric("fabric: f\nclos: {leaves: 4, spines: 4, hosts_per_leaf: 1}\n");
  const auto outcome =
      call(simulate_command, {fabric.path(), "--fault", "host1--leaf1:load=520G,from=host1"});
  EXPECT_NE(outcome.out.find("do: look for other traffic"), std::string::npos) << outcome.out;
}

TEST(SimulateSeveralFaults, WhatOtherTrafficToAHostDropsIsNoFaultOfItsCable) {
  const ScratchFile fabric("fabric: f\nclos: {leaves: 4, spines: 4, hosts_per_leaf: 1}\n");
  const auto outcome =
      call(simulate_command, {fabric.path(), "-o", "json", "--fault", "host1--leaf1:load=520G,from=leaf1"});
  const auto document = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(document["verdict"], "congested");
  ASSERT_EQ(document["hosts"].size(), 1u);
  EXPECT_EQ(document["hosts"][0]["host"], "host1");
  EXPECT_EQ(document["hosts"][0]["cause"], "congestion");
}

}  // namespace
}  // namespace weft::cli
