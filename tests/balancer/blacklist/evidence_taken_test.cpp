// Which evidence the policy takes, and what of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/kept_ledger.hpp"
#include "topology/findings/observation.hpp"

namespace weft::blacklist {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

TEST(BlacklistEvidenceTaken, AMiswiredCableTakesNothingOutOfUse) {
  Kept kept;
  for (const char* name : {"host1", "leaf1", "leaf2--spine3"}) {
    auto fault = kept.fault(name, 1.0, Verdict::failed);
    fault.cause = Cause::down;
    fault.evidence = {"96 traces come into it from spine9" + std::string(kMiswired)};
    EXPECT_THAT(kept.sweep(60s, {fault}), IsEmpty()) << "packets pass, and the fabric file may be wrong";
  }
  EXPECT_THAT(kept.ledger.entries, IsEmpty());
  auto dead = kept.fault("leaf1--spine1", 1.0, Verdict::failed);
  dead.cause = Cause::down;
  dead.evidence = {"leaf1->spine1: 100 of 100 lost", "96 traces come into it" + std::string(kMiswired)};
  kept.sweep(60s, {dead});
  EXPECT_THAT(kept.ledger.entries, SizeIs(1)) << "it is dead too: that one finding tells of both";
}

TEST(BlacklistEvidenceTaken, ARunOfLongAgoOrOfNoTimeIsRefused) {
  for (const UtcTime until : {UtcTime(), kStart - 49h}) {
    Kept kept;
    auto evidence = kept.run({kept.fault("host1")});
    evidence.until = until, evidence.from = until - 10s;
    const auto events = kept.pass(60s, {evidence});
    EXPECT_THAT(kinds(events), testing::ElementsAre(EventKind::refused));
    EXPECT_THAT(events.at(0).text, testing::HasSubstr("ended too long ago"));
    EXPECT_THAT(kept.ledger.entries, IsEmpty());
  }
}

TEST(BlacklistEvidenceTaken, ARunThatIsOlderThanOthersActivatesNothingByItself) {
  Kept kept;
  kept.at += 60s;
  const auto late = kept.run({kept.fault("host1", 0.9999)});
  kept.sweep(60s);
  EXPECT_THAT(kinds(kept.pass(60s, {late})),
              testing::ElementsAre(EventKind::proposed, EventKind::passed_over));
  EXPECT_EQ(kept.state(), EntryState::proposed) << "the newer run told nothing of it";
  kept.sweep(60s, {kept.fault("host1", 0.95)});
  EXPECT_EQ(kept.state(), EntryState::active) << "two runs";

  Kept in_turn;  // as two cron jobs of other hosts, of which one is always taken first
  for (int i = 0; i < 2; ++i) {
    in_turn.at += 60s;
    const auto one = in_turn.run({in_turn.fault("host1", 0.9999)});
    in_turn.at += 60s;
    auto other = in_turn.run();
    other.clean.clear();
    in_turn.pass(0s, {other});
    in_turn.pass(60s, {one});
  }
  EXPECT_EQ(in_turn.state(), EntryState::active);
}

TEST(BlacklistEvidenceTaken, WhatARunSawBeforeItWasPutBackIsNoRelapse) {
  Kept planned;
  planned.pass(60s, {}, {Add{*parse_subject(planned.fabric, "host1"), 1h, "memory", "ann"}});
  planned.at += 50min;
  const auto during = planned.run({planned.fault("host1", 1.0, Verdict::failed)});
  planned.pass(10min);
  ASSERT_EQ(planned.state(), EntryState::probation);
  planned.pass(60s, {during});
  EXPECT_EQ(planned.state(), EntryState::probation) << "the host was at work then";
  planned.sweep(60s, {planned.fault("host1", 1.0, Verdict::failed)});
  EXPECT_EQ(planned.state(), EntryState::active);

  Kept mended;
  mended.sweep(60s, {mended.fault("host1")});
  mended.at += 60s;
  const auto before = mended.run({mended.fault("host1")});
  mended.pass(60s, {}, {Release{EntryId(1), "ann"}});
  EXPECT_THAT(kinds(mended.pass(60s, {before})), testing::ElementsAre(EventKind::passed_over));
  EXPECT_THAT(mended.ledger.entries, SizeIs(1)) << "somebody mended it after that run";
  mended.sweep(60s, {mended.fault("host1")});
  EXPECT_EQ(mended.state(1), EntryState::active);
}

TEST(BlacklistEvidenceTaken, WhatARunThatWasUnderWayAtThePutBackSawIsNoEvidence) {
  const auto under_way = [](Kept& kept, std::vector<Fault> faults) {
    auto run = kept.run(std::move(faults));
    run.from += 5s, run.until += 5s;
    return run;
  };
  const auto planned = [] {
    Kept kept;
    kept.pass(60s, {}, {Add{*parse_subject(kept.fabric, "host1"), 1h, "memory", "ann"}});
    kept.pass(1h);
    EXPECT_EQ(kept.state(), EntryState::probation);
    return kept;
  };
  Kept repaired = planned();
  const auto failed = repaired.fault("host1", 1.0, Verdict::failed);
  EXPECT_THAT(kinds(repaired.pass(60s, {under_way(repaired, {failed})})),
              testing::ElementsAre(EventKind::passed_over));
  EXPECT_EQ(repaired.state(), EntryState::probation) << "it began while the work went on";
  repaired.sweep(60s, {failed});
  EXPECT_EQ(repaired.state(), EntryState::active);

  Kept clean = planned();
  clean.pass(60s, {under_way(clean, {})});
  EXPECT_FALSE(clean.ledger.entries.at(0).clean_at) << "it is not clean evidence either";
  clean.sweep(60s);
  EXPECT_TRUE(clean.ledger.entries.at(0).clean_at);

  Kept released;
  released.sweep(60s, {released.fault("leaf1->spine1")});
  released.pass(60s, {}, {Release{EntryId(1), "ann"}});
  auto down = released.fault("leaf1--spine1", 1.0, Verdict::failed);
  down.cause = Cause::down;
  EXPECT_THAT(kinds(released.pass(60s, {under_way(released, {down})})),
              testing::ElementsAre(EventKind::passed_over));
  EXPECT_THAT(released.ledger.entries, SizeIs(1)) << "its port was closed as the run began, both ways";
  released.sweep(60s, {down});
  EXPECT_EQ(released.state(1), EntryState::active);
}

TEST(BlacklistEvidenceTaken, AMarkOfASchedulerHidesNoFaultOfLinksAndOneOnALinkHidesThatLinkAlone) {
  Kept kept;
  kept.pass(60s, {}, {Add{*parse_subject(kept.fabric, "leaf1"), 1h, "line card", "ann"}});
  kept.pass(60s, {}, {Release{EntryId(1), "ann"}});
  auto& marks = kept.ledger.entries.at(0).marks;
  for (const auto& [target, object] : {std::pair("slurm", "host1"), std::pair("kubernetes", "host2:rail0")})
    marks.push_back({.target = target, .object = object, .before = "", .set = "", .at = kStart});
  kept.sweep(60s, {kept.fault("leaf1--spine1", 1.0, Verdict::failed)});
  ASSERT_THAT(kept.ledger.entries, SizeIs(2)) << "no scheduler takes an uplink out of the routes";
  EXPECT_EQ(kept.state(1), EntryState::active);

  kept.ledger.entries.at(0).marks = {
      {.target = "sonic", .object = "leaf1--spine2", .before = "", .set = "", .at = kStart}};
  EXPECT_THAT(kinds(kept.sweep(60s, {kept.fault("leaf1--spine2", 1.0, Verdict::failed)})),
              testing::ElementsAre(EventKind::passed_over))
      << "not dropped without a word";
  EXPECT_THAT(kept.ledger.entries, SizeIs(2));
  kept.sweep(60s, {kept.fault("leaf1--spine3")});
  EXPECT_THAT(kept.ledger.entries, SizeIs(3)) << "the mark is not on that one";
}

TEST(BlacklistEvidenceTaken, WhatAMarkThatStandsYetCausesIsNoEvidence) {
  const auto down = [](const Kept& kept) {
    auto fault = kept.fault("leaf1--spine1", 1.0, Verdict::failed);
    fault.cause = Cause::down;
    return fault;
  };
  const Mark mark{.target = "opensm", .object = "leaf1--spine1", .before = "", .set = "", .at = kStart};
  Kept kept;
  kept.sweep(60s, {kept.fault("leaf1--spine1")});
  kept.ledger.entries.at(0).marks = {mark};
  kept.sweep(31min);
  ASSERT_EQ(kept.state(), EntryState::probation) << "on trial";
  EXPECT_THAT(kinds(kept.sweep(60s, {down(kept)})), testing::ElementsAre(EventKind::passed_over))
      << "nobody opened the port yet";
  kept.ledger.entries.at(0).marks.clear();
  EXPECT_THAT(kinds(kept.sweep(60s, {down(kept)})), testing::ElementsAre(EventKind::relapsed));
  kept.ledger.entries.at(0).marks = {mark};
  kept.pass(60s, {}, {Release{EntryId(1), "ann"}});
  EXPECT_THAT(kinds(kept.sweep(60s, {down(kept)})), testing::ElementsAre(EventKind::passed_over));
  EXPECT_THAT(kept.ledger.entries, SizeIs(1));
}

TEST(BlacklistEvidenceTaken, ANicThatAFabricManagerIsolatesIsPutBackOnTrial) {
  Kept kept;
  kept.policy.nic_action = NicAction::rail;
  kept.sweep(60s, {kept.fault("host1--leaf1")});
  ASSERT_EQ(kept.state(), EntryState::active);
  kept.ledger.entries.at(0).marks = {
      {.target = "ufm", .object = "host1--leaf1", .before = "", .set = "", .at = kStart}};
  EXPECT_THAT(kept.sweep(60s, {kept.fault("host1--leaf1", 1.0, Verdict::failed)}), IsEmpty());
  auto unseen = kept.run();
  unseen.clean.clear();
  kept.at += 31min;
  unseen.until = kStart + kept.at;
  EXPECT_THAT(kinds(kept.pass(0s, {unseen})), testing::ElementsAre(EventKind::probation))
      << "no probe will ever cross it";
}

}  // namespace
}  // namespace weft::blacklist
