#include "collectors/report/remedy.hpp"

#include <gmock/gmock.h>

#include <array>
#include <set>

#include "topology/model/fabric.hpp"

namespace weft::report {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::array kCauses{Cause::loss, Cause::rate, Cause::congestion, Cause::delay,
                             Cause::down, Cause::mtu,  Cause::corruption, Cause::counter};

Trouble cable(Cause cause) {
  return {.place = Place::link, .cause = cause, .a = "leaf1 port 6", .b = "spine2 port 1"};
}

TEST(Remedy, EachCauseHasItsOwnAndEachPlaceHasOne) {
  std::set<std::string> said;
  for (const Cause cause : kCauses) said.insert(what_to_do(cable(cause)));
  EXPECT_EQ(said.size(), kCauses.size());
  for (const Place place : {Place::link, Place::host_cable, Place::host, Place::node, Place::set,
                            Place::fabric, Place::not_tested})
    for (const Cause cause : kCauses)
      EXPECT_NE(what_to_do({.place = place, .cause = cause}), "") << to_string(cause);
}

TEST(Remedy, NobodyReplacesACableForOtherTraffic) {
  for (const Place place : {Place::link, Place::host_cable, Place::node, Place::set})
    EXPECT_THAT(what_to_do({.place = place, .cause = Cause::congestion}),
                AllOf(StartsWith("look for other traffic"), Not(HasSubstr("replace"))));
}

TEST(Remedy, WhereLossesMayBeAnOverflowNoCableIsReplacedBeforeOtherTrafficIsLookedFor) {
  auto trouble = cable(Cause::loss);
  trouble.place = Place::host_cable;
  trouble.shuts = trouble.may_be_traffic = true;
  EXPECT_THAT(what_to_do(trouble), AllOf(StartsWith("look for other traffic"), HasSubstr("without any, keep"),
                                         HasSubstr("replace the cable")));
}

TEST(Remedy, ThePortThatSendsIsLookedAtFirstWhereOneDirectionSuffers) {
  auto trouble = cable(Cause::loss);
  EXPECT_THAT(what_to_do(trouble), Not(HasSubstr("first")));
  trouble.one_way = true;
  EXPECT_THAT(what_to_do(trouble), HasSubstr("leaf1 port 6 first"));
}

TEST(Remedy, WhatFailedIsTakenOutOfTheRoutesBeforeItIsMended) {
  auto trouble = cable(Cause::loss);
  EXPECT_THAT(what_to_do(trouble), StartsWith("clean and reseat"));
  trouble.shuts = true;
  EXPECT_THAT(what_to_do(trouble), StartsWith("shut leaf1 port 6 so that routes leave it"));
  trouble.kind = FabricKind::infiniband;
  EXPECT_THAT(what_to_do(trouble), StartsWith("disable leaf1 port 6 (ibportstate)"));
  trouble.place = Place::host_cable;
  EXPECT_THAT(what_to_do(trouble), StartsWith("keep jobs off the host"))
      << "no route leaves a host's only cable";
}

TEST(Remedy, ASwitchIsLookedAtBeforeItsCables) {
  EXPECT_THAT(what_to_do({.place = Place::node, .cause = Cause::loss}),
              HasSubstr("switch before the cables"));
}

}  // namespace
}  // namespace weft::report
