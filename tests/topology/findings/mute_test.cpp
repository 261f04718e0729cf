#include "topology/findings/mute.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/model/clos.hpp"

namespace weft {
namespace {

using std::chrono::seconds;

Fabric four_leaves() { return make_clos({.leaves = 4, .spines = 2, .hosts_per_leaf = 2}).value(); }

class Muting : public ::testing::Test {
 protected:
  MuteTarget link(std::string_view name) const { return fabric_.find_link(name).value(); }
  MuteTarget node(std::string_view name) const { return fabric_.find_node(name).value(); }
  ChannelId channel(std::string_view name) const { return fabric_.find_channel(name).value(); }
  static Mute mute(MuteTarget target, int from, int until, std::string reason = "work") {
    return {target, seconds(from), seconds(until), std::move(reason), "ops"};
  }
  bool muted(const Mutes& mutes, const IncidentPlace& place, int at) const {
    return muting(fabric_, mutes, place, seconds(at)) != nullptr;
  }
  Fabric fabric_ = four_leaves();
};

TEST_F(Muting, HoldsFromItsBeginToBeforeItsEnd) {
  const Mutes mutes{mute(link("leaf1--spine2"), 100, 200)};
  const IncidentPlace place{.channels = {channel("leaf1->spine2")}, .nodes = {}};
  EXPECT_FALSE(muted(mutes, place, 99)) << "planned, not yet";
  EXPECT_TRUE(muted(mutes, place, 100));
  EXPECT_TRUE(muted(mutes, place, 199));
  EXPECT_FALSE(muted(mutes, place, 200)) << "it ends by itself";
  EXPECT_FALSE(muted(mutes, {.channels = {channel("leaf1->spine1")}, .nodes = {}}, 150));
}

TEST_F(Muting, OfANodeCoversItsCablesAndTheIncidentOfTheNodeItself) {
  const Mutes mutes{mute(node("spine2"), 0, 10)};
  EXPECT_TRUE(
      muted(mutes, {.channels = {channel("leaf1->spine2"), channel("spine2->leaf3")}, .nodes = {}}, 5));
  EXPECT_TRUE(muted(mutes, {.channels = {}, .nodes = {fabric_.find_node("spine2").value()}}, 5));
  EXPECT_FALSE(muted(mutes, {.channels = {}, .nodes = {fabric_.find_node("host1").value()}}, 5));
  EXPECT_FALSE(
      muted(mutes, {.channels = {channel("leaf1->spine2"), channel("leaf1->spine1")}, .nodes = {}}, 5))
      << "a part that nobody muted";
}

TEST_F(Muting, WhatIsOneOfSeveralIsMutedOnlyWhereAllAre) {
  const IncidentPlace either{
      .channels = {}, .nodes = {}, .alternatives = {{channel("leaf1->spine1")}, {channel("spine1->leaf2")}}};
  Mutes mutes{mute(link("leaf1--spine1"), 0, 10)};
  EXPECT_FALSE(muted(mutes, either, 5));
  mutes = with_mute(mutes, mute(link("leaf2--spine1"), 0, 20, "the later one"));
  ASSERT_NE(muting(fabric_, mutes, either, seconds(5)), nullptr);
  EXPECT_EQ(muting(fabric_, mutes, either, seconds(5))->reason, "the later one");
  EXPECT_FALSE(muted(mutes, IncidentPlace{}, 5)) << "a place that names nothing";
}

TEST_F(Muting, TheLastWordOnATargetHoldsAndAnotherTimeStaysBesideIt) {
  Mutes mutes = with_mute({}, mute(link("leaf1--spine1"), 0, 10));
  mutes = with_mute(mutes, mute(link("leaf1--spine1"), 5, 7, "shorter"));
  ASSERT_EQ(mutes.size(), 1u);
  EXPECT_EQ(mutes[0].reason, "shorter");
  mutes = with_mute(mutes, mute(link("leaf1--spine1"), 100, 200));
  mutes = with_mute(mutes, mute(node("leaf1"), 0, 200));
  EXPECT_EQ(mutes.size(), 3u);
  EXPECT_EQ(without_ended(mutes, seconds(50)).size(), 2u);
  EXPECT_EQ(without_target(mutes, link("leaf1--spine1")), (Mutes{mute(node("leaf1"), 0, 200)}));
}

}  // namespace
}  // namespace weft
