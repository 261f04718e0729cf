#include "probes/plan/label_map.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "probes/engine/sim/sim_fabric.hpp"
#include "probes/plan/trace_plan.hpp"
#include "topology/model/clos.hpp"
#include "topology/model/fabric_builder.hpp"

namespace weft::plan {
namespace {

/// Two pods of 4 spines with 4 cores each, 16 paths.
Fabric pods() {
  return *make_pod_clos({.pods = 2, .leaves = 2, .spines = 4, .cores = 16, .hosts_per_leaf = 2});
}

/// leaf1 has four ways to leaf3, of which two lead to leaf2.
Fabric uneven() {
  FabricBuilder builder("uneven", FabricKind::roce);
  const auto rate = Bandwidth::gbit(100);
  std::vector<NodeId> spines;
  for (const char* name : {"spine1", "spine2", "spine3", "spine4"})
    spines.push_back(*builder.add_node({.name = name, .tier = Tier::spine}));
  for (const auto& [number, ways] : {std::pair("1", 4u), {"2", 2u}, {"3", 4u}}) {
    const NodeId leaf = *builder.add_node({.name = std::string("leaf") + number});
    builder.connect(
        *builder.add_node({.name = std::string("host") + number, .kind = NodeKind::host, .tier = Tier::host}),
        leaf, rate);
    for (unsigned spine = 0; spine < ways; ++spine) builder.connect(leaf, spines[spine], rate);
  }
  return std::move(builder).build();
}

/// A world to trace in, and a map of it.
struct Rig {
  explicit Rig(sim::SimOptions options = {.seed = 3, .hash = {routing::HashFamily::crc32}},
               Fabric made = pods())
      : fabric(std::move(made)), sim(sim::SimFabric::make(fabric, addresses.book, options)) {}

  Fabric fabric;
  AddressPlan addresses = *plan_addresses(fabric, IpFamily::v4);
  PathTable table;
  PathLearner learner{fabric, addresses.book, table};
  LabelMap map{learner, fabric, addresses.book, Fraction(0.999), 1};
  std::shared_ptr<sim::SimFabric> sim;
  NicPair pair{fabric.nics().front(), fabric.nics().back()};
  std::uint32_t batch = 0;

  void trace(const NicPair& of, PathLabel label) {
    const datapath::TraceRequest request{.batch = BatchId(++batch),
                                         .peers = {{of.dst, *addresses.book.address_of(of.dst)}},
                                         .specs = {{0, label, 7}},
                                         .attempts = 1};
    learner.learn(of.src, of.dst, label, *sim->engine(of.src)->trace(request, {}));
    map.learn(of, {&label, 1});
  }
  std::size_t learn(const NicPair& of, std::size_t at_once = 1) {
    std::size_t asked = 0;
    for (auto labels = map.next_labels(of, at_once); !labels.empty() && asked < 2000;
         labels = map.next_labels(of, at_once))
      for (const PathLabel label : labels) {
        trace(of, label);
        ++asked;
      }
    return asked;
  }
  std::vector<ChannelId> truth(const NicPair& of, PathLabel label) const {
    std::vector<ChannelId> path;
    sim->world().path_of(of.src, of.dst, label, path);
    return path;
  }
  /// Of all labels, those not open; each must be as it is told.
  std::size_t told(const NicPair& of) {
    std::size_t count = 0;
    for (const PathLabel label : spread_labels(kRoceLabels)) {
      const auto path = map.path_of(of, label);
      if (path.state == LabelState::open) continue;
      EXPECT_EQ(path.channels, truth(of, label)) << label.value();
      ++count;
    }
    return count;
  }
};

TEST(LabelMap, AHundredLabelsTellThePathsOfAllOthers) {
  Rig rig;
  EXPECT_LT(rig.learn(rig.pair), 120u);
  EXPECT_EQ(rig.told(rig.pair), kRoceLabels);
  const auto groups = rig.map.groups();
  EXPECT_EQ(groups.size(), 5u);
  EXPECT_TRUE(std::ranges::all_of(groups, [](const GroupState& g) { return g.hash->is_checked(); }));
}

TEST(LabelMap, WhatOnePairTaughtIsNotAskedAgainOfTheNext) {
  Rig rig;
  const std::size_t first = rig.learn(rig.pair, 16);
  const NicPair other{rig.fabric.nics()[1], rig.fabric.nics().back()};  // the same leaf and spines
  EXPECT_LT(rig.learn(other, 16), first / 2);
  EXPECT_EQ(rig.told(other), kRoceLabels);
  EXPECT_EQ(rig.told(rig.pair), kRoceLabels);
}

TEST(LabelMap, WhereThePortOfIngressIsHashedEachHostOfALeafTakesSomeFlowsMore) {
  Rig rig({.seed = 3, .hash = {.family = routing::HashFamily::crc32, .ingress_port = true}});
  const std::size_t first = rig.learn(rig.pair);
  const NicPair other{rig.fabric.nics()[1], rig.fabric.nics().back()};
  EXPECT_LT(rig.learn(other), first);
  EXPECT_EQ(rig.told(other), kRoceLabels);
  EXPECT_EQ(rig.told(rig.pair), kRoceLabels);
}

TEST(LabelMap, TwoGroupsOfOneSwitchAreLearnedApart) {
  Rig rig({.seed = 3, .hash = {routing::HashFamily::crc32}}, uneven());
  const auto nics = rig.fabric.nics();
  const NicPair two{nics[0], nics[1]}, four{nics[0], nics[2]};
  rig.learn(two);
  rig.learn(four);
  EXPECT_EQ(rig.told(two), kRoceLabels);
  EXPECT_EQ(rig.told(four), kRoceLabels);
  const NodeId leaf = *rig.fabric.find_node("leaf1");
  std::set<std::size_t> sizes;
  for (const GroupState& group : rig.map.groups())
    if (group.at == leaf) sizes.insert(group.next_hops.size());
  EXPECT_EQ(sizes, (std::set<std::size_t>{2, 4}));
}

TEST(LabelMap, LostAnswersAreAskedForAgain) {
  Rig rig({.seed = 3, .hash = {routing::HashFamily::toeplitz}, .answers_lost = Fraction(0.2)});
  rig.learn(rig.pair);
  EXPECT_EQ(rig.told(rig.pair), kRoceLabels);
}

TEST(LabelMap, OfASwitchWithoutStructureNothingIsPredictedAndOfTheOthersAll) {
  Rig plain;
  const NodeId spine = plain.fabric.target_node(plain.truth(plain.pair, PathLabel(50000))[1]);
  Rig rig({.seed = 3, .hash = {routing::HashFamily::crc32}, .structureless = {spine}});
  rig.learn(rig.pair);
  const std::size_t told = rig.told(rig.pair);
  EXPECT_GT(told, kRoceLabels * 2U / 3);
  EXPECT_LT(told, kRoceLabels * 4U / 5);
}

TEST(LabelMap, WhereNoHashHasStructureAllThatWasNotTracedIsOpen) {
  Rig rig({.seed = 3});
  const std::size_t asked = rig.learn(rig.pair);
  EXPECT_LT(asked, 60u);
  EXPECT_LE(rig.told(rig.pair), asked);
  EXPECT_EQ(rig.map.taken_back(), 0u);
}

TEST(LabelMap, APredictionThatATraceContradictsIsTakenBack) {
  Rig rig;
  rig.learn(rig.pair);
  PathLabel fresh{50000};
  while (rig.map.path_of(rig.pair, fresh).state == LabelState::seen) fresh = PathLabel(fresh.value() + 1);
  ASSERT_EQ(rig.map.path_of(rig.pair, fresh).state, LabelState::predicted);
  // The route of this label has changed: another label's path is what its trace says.
  PathLabel other{60000};
  while (rig.truth(rig.pair, other) == rig.truth(rig.pair, fresh)) other = PathLabel(other.value() + 1);
  const auto moved = rig.truth(rig.pair, other);
  const std::vector<std::vector<ChannelId>> one{moved};
  rig.learner.adopt(rig.pair.src, rig.pair.dst, fresh, one);
  rig.map.learn(rig.pair, {&fresh, 1});
  EXPECT_EQ(rig.map.taken_back(), 1u);
  EXPECT_EQ(rig.map.path_of(rig.pair, fresh).channels, moved);
  for (const GroupState& group : rig.map.groups())
    if (group.hash->given_up())
      for (const PathLabel label : spread_labels(kRoceLabels)) {
        const auto path = rig.map.path_of(rig.pair, label);
        if (path.state != LabelState::predicted) continue;
        for (const ChannelId channel : path.channels)
          EXPECT_EQ(std::ranges::count(group.next_hops, channel), 0);
      }
}

TEST(LabelMap, ASwitchThatSpraysOneLabelIsNotPredicted) {
  Rig rig;
  rig.learn(rig.pair);
  const std::vector<std::vector<ChannelId>> both{
      rig.truth(rig.pair, PathLabel(50000)), [&] {
        PathLabel other{50001};
        while (rig.truth(rig.pair, other)[1] == rig.truth(rig.pair, PathLabel(50000))[1])
          other = PathLabel(other.value() + 1);
        return rig.truth(rig.pair, other);
      }()};
  // Both spines answered for hop 2.
  std::vector<datapath::HopAnswer> answers;
  for (const auto& path : both)
    for (std::uint8_t hop = 1; hop <= 2; ++hop)
      answers.push_back(
          {.hop = hop, .from = *rig.addresses.book.address_of(rig.fabric.target(path[hop - 1U]))});
  const PathLabel label(50000);
  ASSERT_TRUE(rig.learner.learn(rig.pair.src, rig.pair.dst, label, answers));
  rig.map.learn(rig.pair, {&label, 1});
  EXPECT_EQ(rig.map.taken_back(), 1u);
  EXPECT_EQ(rig.map.path_of(rig.pair, PathLabel(50002)).state, LabelState::open);
}

TEST(LabelMap, APairOfOneLeafHasNothingToLearn) {
  Rig rig;
  const NicPair near{rig.fabric.nics()[0], rig.fabric.nics()[1]};
  EXPECT_TRUE(rig.map.next_labels(near, 16).empty());
  EXPECT_EQ(rig.map.path_of(near, PathLabel(50000)).state, LabelState::predicted);
}

}  // namespace
}  // namespace weft::plan
