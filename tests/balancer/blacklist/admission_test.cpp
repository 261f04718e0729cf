#include "balancer/blacklist/admission.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/model/clos.hpp"
#include "topology/model/fabric_builder.hpp"

namespace weft::blacklist {
namespace {

using testing::ElementsAre;
using testing::Eq;
using testing::HasSubstr;
using testing::Optional;

/// Four leaves with eight uplinks each, of which two may be out; ten hosts a leaf.
class AdmissionOfAFabric : public testing::Test {
 protected:
  Candidate link(std::string_view name) const { return {effect(name)}; }
  Effect effect(std::string_view name) const {
    return effect_of(fabric_, *parse_subject(fabric_, name), NicAction::host);
  }
  Admission admitted(const std::vector<Candidate>& candidates, std::size_t drained_lately = 0,
                     std::size_t allowed = 100, const std::optional<std::string>& breaker = std::nullopt,
                     bool may_trip = true) const {
    return admit(candidates, Capacity(fabric_, caps_), drained_lately, allowed, breaker, may_trip);
  }

  Fabric fabric_ = *make_clos({.leaves = 4, .spines = 8, .hosts_per_leaf = 10});
  Caps caps_{.fabric_links = 0.5, .most_hosts = 1};
};

TEST_F(AdmissionOfAFabric, LetsThroughAsMuchAsTheCapsLeaveInTheOrderGiven) {
  std::vector<Candidate> all{link("leaf1--spine1"), link("leaf1--spine2"), link("leaf1--spine3"),
                             link("leaf2--spine3")};
  for (Candidate& each : all) each.is_fresh = false;
  const auto admission = admitted(all);
  EXPECT_THAT(admission.held_back, ElementsAre(Eq(std::nullopt), Eq(std::nullopt),
                                               Optional(HasSubstr("uplinks of leaf1")), Eq(std::nullopt)))
      << "what comes behind one that is held back is judged by itself";
  EXPECT_EQ(admission.breaker, std::nullopt);
}

TEST(CapacityOfUnequalLinks, IsWhatTheyCarryAndNotOnlyHowManyTheyAre) {
  FabricBuilder builder("unequal", FabricKind::roce);
  std::vector<NodeId> leaves, spines;
  for (int i = 1; i <= 2; ++i)
    leaves.push_back(*builder.add_node({.name = fmt::format("leaf{}", i), .tier = Tier::leaf}));
  for (int i = 1; i <= 5; ++i)
    spines.push_back(*builder.add_node({.name = fmt::format("spine{}", i), .tier = Tier::spine}));
  for (const NodeId leaf : leaves)
    for (std::size_t i = 0; i < spines.size(); ++i)
      builder.connect(leaf, spines[i], Bandwidth::gbit(i == 0 ? 400 : 100));
  const Fabric fabric = std::move(builder).build();
  const Capacity capacity(fabric, {.fabric_links = 1});
  const auto broken_by = [&](const char* link) {
    return capacity.broken_by(effect_of(fabric, *parse_subject(fabric, link), NicAction::host));
  };
  EXPECT_EQ(broken_by("leaf1--spine2"), std::nullopt) << "100 of 800 Gbit/s";
  EXPECT_THAT(broken_by("leaf1--spine1"),
              Optional(HasSubstr(
                  "uplinks of leaf1: 400 Gbit/s of 800 Gbit/s would be out of use, 200 Gbit/s may be")));
}

TEST_F(AdmissionOfAFabric, WhatIsOutAlreadyCounts) {
  Capacity used(fabric_, caps_);
  used.take_out(effect("leaf1--spine1"));
  used.take_out(effect("leaf1--spine2"));
  const std::vector<Candidate> one{link("leaf1--spine3")};
  EXPECT_THAT(admit(one, used, 0, 100, std::nullopt, true).held_back,
              ElementsAre(Optional(HasSubstr("uplinks of leaf1"))));
}

TEST_F(AdmissionOfAFabric, NoMoreHostsAreNewlyDrainedWithinTheHourThanMayBe) {
  const std::vector<Candidate> hosts{{.effect = effect("host1"), .is_fresh = false},
                                     {.effect = effect("host2"), .is_fresh = false}};
  const auto admission = admitted(hosts, 2, 3);
  EXPECT_THAT(
      admission.held_back,
      ElementsAre(Eq(std::nullopt), Optional(HasSubstr("drained within an hour: 4 would be, 3 may"))));
  EXPECT_EQ(admission.drained, 1u) << "the one that was let through";
}

TEST_F(AdmissionOfAFabric, AHostOfALeafThatIsOutIsNotDrainedASecondTime) {
  Capacity used(fabric_, {.few_hosts = 20, .most_hosts = 1});
  used.take_out(effect("leaf1"));
  const std::vector<Candidate> hosts{{.effect = effect("host1"), .is_fresh = false},
                                     {.effect = effect("host11"), .is_fresh = false}};
  const auto admission = admit(hosts, used, 10, 11, std::nullopt, true);
  EXPECT_THAT(admission.held_back, ElementsAre(Eq(std::nullopt), Eq(std::nullopt)));
  EXPECT_EQ(admission.drained, 1u) << "host11; host1 was drained with its leaf";
}

TEST_F(AdmissionOfAFabric, AHostThatIsBackFromProbationIsNotNewlyDrained) {
  const std::vector<Candidate> back{{.effect = effect("host1"), .is_new = false}};
  const auto admission = admitted(back, 3, 3);
  EXPECT_THAT(admission.held_back, ElementsAre(Eq(std::nullopt)));
  EXPECT_EQ(admission.drained, 0u);
}

TEST_F(AdmissionOfAFabric, TheBreakerHoldsWhatIsNewAndWasNotAskedForByHand) {
  const std::vector<Candidate> all{{.effect = effect("leaf1--spine1")},
                                   {.effect = effect("leaf2--spine1"), .is_new = false},
                                   {.effect = effect("leaf3--spine1"), .by_hand = true}};
  const auto admission = admitted(all, 0, 100, "it tripped");
  EXPECT_THAT(admission.held_back,
              ElementsAre(Optional(Eq("it tripped")), Eq(std::nullopt), Eq(std::nullopt)));
  EXPECT_THAT(admission.breaker, Optional(Eq("it tripped")));
}

TEST_F(AdmissionOfAFabric, MoreAtOnceThanTheCapsLetThroughTripTheBreakerAndNoneOfThemIsAdmitted) {
  const std::vector<Candidate> all{link("leaf1--spine1"), link("leaf1--spine2"), link("leaf1--spine3")};
  const auto admission = admitted(all);
  ASSERT_THAT(admission.breaker, Optional(HasSubstr("3 entries at once, and the caps let 2 through")));
  for (const auto& why : admission.held_back) EXPECT_EQ(why, admission.breaker);
  EXPECT_EQ(admitted(all, 0, 100, std::nullopt, false).breaker, std::nullopt) << "it may not trip";
}

TEST_F(AdmissionOfAFabric, OneThatTheCapsHoldBackAloneTripsNothing) {
  Capacity used(fabric_, caps_);
  for (const char* out : {"leaf1--spine1", "leaf1--spine2"}) used.take_out(effect(out));
  const std::vector<Candidate> one{link("leaf1--spine3")};
  EXPECT_EQ(admit(one, used, 0, 100, std::nullopt, true).breaker, std::nullopt);
}

TEST_F(AdmissionOfAFabric, WhatAnOperatorAsksForTripsNothing) {
  std::vector<Candidate> all{link("leaf1--spine1"), link("leaf1--spine2"), link("leaf1--spine3")};
  for (Candidate& each : all) each.by_hand = true;
  const auto admission = admitted(all);
  EXPECT_EQ(admission.breaker, std::nullopt);
  EXPECT_THAT(admission.held_back[2], Optional(HasSubstr("uplinks of leaf1")))
      << "the caps hold it all the same";
}

}  // namespace
}  // namespace weft::blacklist
