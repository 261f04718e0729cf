#include "balancer/blacklist/policy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/support/draws.hpp"
#include "tests/support/kept_ledger.hpp"

namespace weft::blacklist {
namespace {

using namespace std::chrono_literals;
using testing::IsEmpty;
using testing::SizeIs;

TEST(BlacklistPolicy, ASureFaultIsActiveAtOnceAndAnUnsureOneAfterASecondRunThatSharesNoPacket) {
  Kept sure;
  EXPECT_THAT(kinds(sure.sweep(60s, {sure.fault("leaf1->spine1", 0.995)})),
              testing::ElementsAre(EventKind::proposed, EventKind::activated));
  EXPECT_EQ(sure.state(), EntryState::active);
  Kept unsure;
  unsure.sweep(60s, {unsure.fault("leaf1->spine1", 0.95)});
  EXPECT_EQ(unsure.state(), EntryState::proposed);
  Evidence overlapping = unsure.run({unsure.fault("leaf1->spine1", 0.95)});
  overlapping.until += 30s;  // begins before the first one ended
  unsure.pass(60s, {overlapping});
  EXPECT_EQ(unsure.state(), EntryState::proposed);
  unsure.sweep(60s, {unsure.fault("leaf1->spine1", 0.95)});
  EXPECT_EQ(unsure.state(), EntryState::active);
}

TEST(BlacklistPolicy, TheSameRunTwiceConfirmsNothing) {
  Kept kept;
  kept.at += 60s;
  const auto evidence = kept.run({kept.fault("leaf1->spine1", 0.95)});
  kept.pass(60s, {evidence});
  EXPECT_THAT(kept.pass(60s, {evidence}), IsEmpty());
  EXPECT_EQ(kept.state(), EntryState::proposed);
}

TEST(BlacklistPolicy, CleanEvidenceOverThatVeryCableEndsItAndAbsenceOfEvidenceDoesNot) {
  Kept kept;
  kept.sweep(60s, {kept.fault("host1")});
  ASSERT_EQ(kept.state(), EntryState::active);
  auto elsewhere = kept.run();
  for (int i = 0; i < 50; ++i) {
    kept.at += 600s;
    elsewhere = kept.run();
    for (const ChannelId channel : channels_of(kept.fabric, *parse_subject(kept.fabric, "host1")))
      elsewhere.clean[channel.value()] = false;
    kept.pass(0s, {elsewhere});
  }
  EXPECT_EQ(kept.state(), EntryState::active) << "nothing crossed it";
  for (int i = 0; i < 4; ++i) kept.sweep(600s);
  EXPECT_EQ(kept.state(), EntryState::probation);
  for (int i = 0; i < 4; ++i) kept.sweep(600s);
  EXPECT_EQ(kept.state(), EntryState::released);
}

TEST(BlacklistPolicy, ARunThatWouldNotHaveShownTheFaultIsNotCleanEvidence) {
  Kept kept;
  auto small = kept.fault("host1");
  small.size = 0.0005;  // and the sweeps show a loss of .001
  kept.sweep(60s, {small});
  auto slow = kept.fault("host2");
  slow.cause = Cause::rate;
  kept.sweep(60s, {slow});
  for (int i = 0; i < 20; ++i) kept.sweep(600s);
  EXPECT_EQ(kept.state(0), EntryState::active);
  EXPECT_EQ(kept.state(1), EntryState::active) << "nothing was loaded";
  for (int i = 0; i < 4; ++i) {
    kept.at += 600s;
    auto loaded = kept.run();
    loaded.loaded = loaded.clean, loaded.shows_rate = 0.25;
    kept.pass(0s, {loaded});
  }
  EXPECT_EQ(kept.state(1), EntryState::probation);
}

TEST(BlacklistPolicy, ARelapseOnProbationIsActiveAtOnceAndHasToBeCleanForTwiceAsLong) {
  Kept kept;
  kept.sweep(60s, {kept.fault("host1")});
  for (int i = 0; i < 4; ++i) kept.sweep(600s);
  ASSERT_EQ(kept.state(), EntryState::probation);
  EXPECT_THAT(kinds(kept.sweep(60s, {kept.fault("host1", 0.7)})), testing::ElementsAre(EventKind::relapsed));
  EXPECT_EQ(kept.state(), EntryState::active);
  EXPECT_EQ(kept.ledger.entries[0].offences, 2u);
  for (int i = 0; i < 6; ++i) kept.sweep(600s);
  EXPECT_EQ(kept.state(), EntryState::active);
  kept.sweep(600s);
  EXPECT_EQ(kept.state(), EntryState::probation);
}

TEST(BlacklistPolicy, AReleasedCableThatFailsAgainWithinAMonthIsARepeatedOffence) {
  Kept kept;
  kept.sweep(60s, {kept.fault("host1")});
  for (int i = 0; i < 8; ++i) kept.sweep(600s);
  ASSERT_EQ(kept.state(), EntryState::released);
  kept.sweep(24h * 20, {kept.fault("host1")});
  EXPECT_EQ(kept.ledger.entries.at(1).offences, 2u);
}

TEST(BlacklistPolicy, EvidenceFromBeforeItsReleaseProposesNothing) {
  Kept kept;
  kept.at += 60s;
  const auto old = kept.run({kept.fault("host1")});
  kept.pass(0s, {old});
  for (int i = 0; i < 8; ++i) kept.sweep(600s);
  ASSERT_EQ(kept.state(), EntryState::released);
  kept.pass(60s, {old});
  EXPECT_THAT(kept.ledger.entries, SizeIs(1));
}

TEST(BlacklistPolicy, ACableOutOfTheRoutesIsPutBackOneAtATimeAndWhatOurOwnMarkCausesIsNoEvidence) {
  Kept kept;
  kept.policy.caps.fabric_links = 0.5;
  kept.sweep(60s, {kept.fault("leaf1->spine1")});
  kept.sweep(60s, {kept.fault("leaf2->spine2")});
  ASSERT_EQ(kept.state(0), EntryState::active);
  ASSERT_EQ(kept.state(1), EntryState::active);
  const auto down = Fault{*parse_subject(kept.fabric, "leaf1--spine1"), Cause::down, Verdict::failed, 1.0};
  for (int i = 0; i < 9; ++i) EXPECT_THAT(kept.sweep(180s, {down}), IsEmpty());
  kept.sweep(180s, {down});
  EXPECT_EQ(kept.state(0), EntryState::probation);
  EXPECT_EQ(kept.state(1), EntryState::active) << "one at a time";
  kept.sweep(60s, {kept.fault("leaf1->spine1", 0.9)});
  EXPECT_EQ(kept.state(0), EntryState::active);
  kept.pass(60s);
  EXPECT_EQ(kept.state(1), EntryState::probation);
}

TEST(BlacklistPolicy, CapsHoldBackAndSaySo) {
  Kept kept;  // 8 uplinks a leaf: two may be out; of 32 links of the fabric one
  kept.policy.caps.fabric_links = 0.5;
  for (const char* link : {"leaf1->spine1", "leaf1->spine2", "leaf1->spine3"})
    kept.sweep(60s, {kept.fault(link)});
  EXPECT_EQ(kept.state(1), EntryState::active);
  EXPECT_EQ(kept.state(2), EntryState::proposed);
  EXPECT_EQ(kept.ledger.entries[2].held_back, "uplinks of leaf1: 3 of 8 would be out of use, 2 may be");
  EXPECT_FALSE(kept.ledger.breaker);
  kept.pass(60s, {}, {Release{EntryId(1), "ann"}});
  EXPECT_EQ(kept.state(2), EntryState::active) << "there is room now";
}

TEST(BlacklistPolicy, FaultsThatLetNothingThroughCountBeforeTheyAreConfirmed) {
  Kept kept;
  kept.policy.caps.fabric_links = 0.5;
  for (const char* link : {"leaf1--spine1", "leaf1--spine2"})
    kept.sweep(60s, {kept.fault(link, 0.8, Verdict::failed)});
  kept.sweep(60s, {kept.fault("leaf1->spine3")});
  EXPECT_EQ(kept.state(2), EntryState::proposed);
  EXPECT_TRUE(kept.ledger.entries[2].held_back);
}

TEST(BlacklistPolicy, ThirtyFalseFindingsTripTheBreakerAndNothingIsTakenOut) {
  Kept kept;
  std::vector<Fault> faults;
  for (int host = 1; host <= 30; ++host) faults.push_back(kept.fault("host" + std::to_string(host)));
  kept.sweep(60s, faults);
  EXPECT_TRUE(kept.ledger.breaker);
  for (const Entry& entry : kept.ledger.entries) EXPECT_EQ(entry.state, EntryState::proposed);
  kept.sweep(60s, {kept.fault("host40")});
  for (const Entry& entry : kept.ledger.entries) EXPECT_EQ(entry.state, EntryState::proposed);
  // After it, what the newest run says holds: no backlog.
  kept.pass(60s, {}, {Resume{"ann"}});
  EXPECT_FALSE(kept.ledger.breaker);
  for (const Entry& entry : kept.ledger.entries)
    EXPECT_EQ(entry.state == EntryState::active, entry.subject.name == "host40") << entry.subject.name;
}

TEST(BlacklistPolicy, WhenNothingIsLeftOfThemTheCapsStillHoldAfterTheBreaker) {
  Kept kept;
  std::vector<Fault> faults;
  for (int host = 1; host <= 30; ++host) faults.push_back(kept.fault("host" + std::to_string(host)));
  kept.sweep(60s, faults);
  kept.pass(60s, {}, {Resume{"ann"}});
  const auto active = std::ranges::count(kept.ledger.entries, EntryState::active, &Entry::state);
  EXPECT_EQ(active, 10) << "of 40 hosts a quarter";
}

TEST(BlacklistPolicy, MachinesThatTakeTurnsWithUnequalClocksCountTheTimeOnce) {
  Kept kept;
  kept.pass(60s, {}, {Add{*parse_subject(kept.fabric, "leaf2"), 4h, "line card", "ann"}});
  const auto turn_of_other = [&] {
    kept.at += 30s;
    const auto stepped = step(kept.ledger, kept.fabric, kept.policy, {}, {}, kept.mutes,
                              {kStart + kept.at + 9min, kept.at + 48h, "another machine"});
    kept.ledger = stepped.ledger;
  };
  turn_of_other();
  const auto began = kept.ledger.time;
  for (int minute = 0; minute < 200; ++minute) kept.pass(30s), turn_of_other();
  EXPECT_EQ(kept.state(), EntryState::active);
  EXPECT_EQ(kept.ledger.time - began, 200min);
}

TEST(BlacklistPolicy, AnOperatorsEntryEndsInProbationByTheTimeThatPassedAndNotByAJumpOfTheClock) {
  Kept kept;
  kept.pass(60s, {}, {Add{*parse_subject(kept.fabric, "leaf2"), 4h, "line card", "ann"}});
  ASSERT_EQ(kept.state(), EntryState::active);
  auto stepped = step(kept.ledger, kept.fabric, kept.policy, {}, {}, kept.mutes,
                      {kStart + kept.at + 48h, kept.at + 60s, "boot"});
  EXPECT_EQ(stepped.ledger.entries[0].state, EntryState::active) << "the wall clock jumped";
  stepped = step(kept.ledger, kept.fabric, kept.policy, {}, {}, kept.mutes,
                 {kStart + kept.at + 48h, 10s, "another boot"});
  EXPECT_EQ(stepped.ledger.entries[0].state, EntryState::active) << "after a reboot nobody knows";
  EXPECT_THAT(kinds(kept.pass(4h)), testing::ElementsAre(EventKind::expired));
  EXPECT_EQ(kept.state(), EntryState::probation);
}

TEST(BlacklistPolicy, WhatIsFoundAgainAfterPlannedWorkIsKeptByEvidenceAndTriedLikeAnyOther) {
  Kept kept;
  kept.pass(60s, {}, {Add{*parse_subject(kept.fabric, "leaf1--spine1"), 1h, "new optics", "ann"}});
  kept.pass(1h);
  ASSERT_EQ(kept.state(), EntryState::probation);
  kept.sweep(60s, {kept.fault("leaf1->spine1")});
  ASSERT_EQ(kept.state(), EntryState::active);
  kept.pass(2h);
  EXPECT_EQ(kept.state(), EntryState::probation) << "no probe crosses it: it has to be put back to be swept";
}

TEST(BlacklistPolicy, EvidenceIsKeptShort) {
  Kept kept;
  auto fault = kept.fault("host1");
  fault.evidence.assign(1000, std::string(10'000, 'x'));
  kept.sweep(60s, {fault});
  EXPECT_LE(kept.ledger.entries[0].evidence.size(), 20u);
  EXPECT_LE(kept.ledger.entries[0].evidence[0].size(), kMaxText);
}

TEST(BlacklistPolicy, WhatIsHeldIsNotAppliedAgainWithoutApproval) {
  Kept kept;
  kept.sweep(60s, {kept.fault("host1")});
  kept.pass(60s, {}, {Hold{EntryId(1), "resumed by root", "weft"}});
  kept.sweep(60s, {kept.fault("host1")});
  EXPECT_EQ(kept.state(), EntryState::proposed);
  kept.pass(60s, {}, {Approve{EntryId(1), "ann"}});
  EXPECT_EQ(kept.state(), EntryState::active);
}

TEST(BlacklistPolicy, AMutedCableMakesNoEntryAndAKindThatNeedsApprovalWaits) {
  Kept kept;
  const auto now = (kStart + kept.at + 60s).time_since_epoch();
  kept.mutes = {{*kept.fabric.find_link("leaf1--spine1"), now - 1h, now + 1h, "work", "ann"}};
  kept.sweep(60s, {kept.fault("leaf1->spine1")});
  EXPECT_THAT(kept.ledger.entries, IsEmpty());
  kept.policy.automatic[SubjectKind::host] = false;
  kept.sweep(60s, {kept.fault("host1")});
  EXPECT_EQ(kept.state(), EntryState::proposed);
  EXPECT_TRUE(kept.ledger.entries[0].held_back);
  kept.pass(60s, {}, {Approve{EntryId(1), "ann"}});
  EXPECT_EQ(kept.state(), EntryState::active);
}

TEST(BlacklistPolicy, ASubjectThatTheFabricHasNoMoreStaysAndIsSaidOnce) {
  Kept kept;
  kept.sweep(60s, {kept.fault("host40")});
  kept.fabric = *make_clos({.leaves = 3, .spines = 8, .hosts_per_leaf = 10});
  EXPECT_THAT(kinds(kept.sweep(60s)), testing::ElementsAre(EventKind::refused));
  EXPECT_THAT(kept.sweep(60s), IsEmpty());
  EXPECT_EQ(kept.state(), EntryState::active);
  kept.pass(60s, {}, {Release{EntryId(1), "ann"}});
  EXPECT_EQ(kept.state(), EntryState::released);
}

TEST(BlacklistPolicy, EvidenceFromTheFutureIsRefused) {
  Kept kept;
  auto evidence = kept.run({kept.fault("host1")});
  evidence.until += 1h;
  EXPECT_THAT(kinds(kept.pass(60s, {evidence})), testing::ElementsAre(EventKind::refused));
  EXPECT_THAT(kept.ledger.entries, IsEmpty());
}

TEST(BlacklistPolicy, AFaultOfOneCableTakesOutNoLeafThatIsOnlyProposedHeldOrOnProbation) {
  const auto cable = [](const Kept& kept) { return kept.fault("host1--leaf1", 0.999); };
  Kept proposed;
  proposed.sweep(60s, {proposed.fault("leaf1", 0.6)});
  proposed.sweep(60s, {cable(proposed)});
  EXPECT_EQ(proposed.state(0), EntryState::proposed) << "nobody is sure of the leaf";
  EXPECT_EQ(proposed.state(1), EntryState::active);

  Kept planned;
  planned.pass(60s, {}, {Add{*parse_subject(planned.fabric, "leaf1"), 1h, "line card", "ann"}});
  ASSERT_EQ(planned.state(), EntryState::active);
  planned.sweep(60s, {cable(planned)});
  EXPECT_THAT(planned.ledger.entries, SizeIs(1)) << "what the work causes is no evidence";
  planned.pass(1h);
  ASSERT_EQ(planned.state(0), EntryState::probation);
  planned.sweep(60s, {planned.fault("host1--leaf1", 0.6)});
  EXPECT_EQ(planned.state(0), EntryState::probation);
  EXPECT_EQ(planned.state(1), EntryState::proposed) << "it has to be sure by itself";

  Kept held(*make_clos({.leaves = 8, .spines = 8, .hosts_per_leaf = 2}));
  held.pass(60s, {}, {Add{*parse_subject(held.fabric, "leaf1"), 1h, "line card", "ann"}});
  held.pass(60s, {}, {Hold{EntryId(1), "not now", "ann"}});
  held.sweep(60s, {cable(held)});
  EXPECT_EQ(held.state(0), EntryState::proposed);
  EXPECT_EQ(held.state(1), EntryState::active) << "of the cable nobody said so";
}

TEST(BlacklistPolicy, AfterPlannedWorkAFaultHasToBeAsSureAsAnyOther) {
  Kept kept;
  kept.pass(60s, {}, {Add{*parse_subject(kept.fabric, "host1"), 1h, "memory", "ann"}});
  kept.sweep(60s, {kept.fault("host1", 0.95)});
  kept.pass(1h);
  ASSERT_EQ(kept.state(), EntryState::probation);
  kept.sweep(60s, {kept.fault("host1", 0.95)});
  EXPECT_EQ(kept.state(), EntryState::probation) << "that of the work does not count";
  kept.sweep(60s, {kept.fault("host1", 0.95)});
  EXPECT_EQ(kept.state(), EntryState::active);
}

TEST(BlacklistPolicy, WhatOnceNeedsApprovalNeedsItWhateverCommandComesWithoutTheOption) {
  Kept kept;
  kept.policy.automatic[SubjectKind::host] = false;
  kept.sweep(60s, {kept.fault("host1"), kept.fault("host2", 0.95)});
  kept.sweep(60s, {kept.fault("host2", 0.95)});
  kept.policy.automatic.clear();
  kept.pass(60s, {}, {Add{*parse_subject(kept.fabric, "host9"), 1h, "memory", "ann"}});
  EXPECT_EQ(kept.state(0), EntryState::proposed);
  EXPECT_EQ(kept.state(1), EntryState::proposed);
  kept.pass(60s, {}, {Approve{EntryId(2), "ann"}});
  EXPECT_EQ(kept.state(0), EntryState::proposed);
  EXPECT_EQ(kept.state(1), EntryState::active);
}

TEST(BlacklistPolicy, ACommandReleasesNothingButWhatItNames) {
  Kept kept;
  kept.policy.clean = 4h;
  kept.sweep(60s, {kept.fault("host1")});
  for (int i = 0; i < 4; ++i) kept.sweep(20min);
  ASSERT_EQ(kept.state(), EntryState::active);
  kept.policy.clean = 30min;  // the option was forgotten
  kept.pass(60s, {}, {Add{*parse_subject(kept.fabric, "host9"), 1h, "memory", "ann"}});
  EXPECT_EQ(kept.state(), EntryState::active);
}

TEST(BlacklistPolicy, TimeAloneEndsWhatWasAddedForATimeAndNothingElse) {
  Kept kept;
  kept.sweep(60s, {kept.fault("host1")});
  kept.pass(60s, {}, {Add{*parse_subject(kept.fabric, "host9"), 1h, "memory", "ann"}});
  for (int i = 0; i < 2; ++i) kept.sweep(19min);
  kept.ledger.entries[0].clean = 40h;
  kept.at += 2h;
  const auto stepped =
      let_time_pass(kept.ledger, kept.fabric, kept.policy, {kStart + kept.at, kept.at, "boot"});
  EXPECT_THAT(kinds(stepped.events), testing::ElementsAre(EventKind::expired));
  EXPECT_EQ(stepped.ledger.entries[0].state, EntryState::active);
  EXPECT_EQ(stepped.ledger.entries[1].state, EntryState::probation);
}

TEST(BlacklistPolicy, RunsAreHeardAgainAfterAClockWasAheadAndIsSetRight) {
  Kept kept;
  kept.sweep(60s, {kept.fault("host1")});
  Seconds uptime = kept.at;
  const auto hear = [&](std::vector<Fault> faults) {
    uptime += 60s;
    const auto evidence = kept.run(std::move(faults));
    auto stepped = step(kept.ledger, kept.fabric, kept.policy, {&evidence, 1}, {}, {},
                        {kStart + kept.at, uptime, "boot"});
    kept.ledger = std::move(stepped.ledger);
    return kinds(stepped.events);
  };
  kept.at += 24h * 400;  // the clock of this machine, and of the one that swept
  hear({kept.fault("host1"), kept.fault("host2", 0.95)});
  kept.at -= 24h * 400;
  kept.at += 1h;
  EXPECT_THAT(hear({}), testing::Contains(EventKind::clock_set));
  kept.at += 60s;
  EXPECT_THAT(hear({kept.fault("host2", 0.95)}), IsEmpty()) << "the run of the future confirms nothing";
  EXPECT_EQ(kept.ledger.entries[0].clean_at, kept.ledger.time) << "the run is believed";
  EXPECT_EQ(kept.state(), EntryState::active) << "and ends nothing by itself";
  EXPECT_EQ(kept.state(1), EntryState::proposed);
}

/// What holds of every ledger that steps can make.
void expect_sound(const Kept& kept, const Ledger& before) {
  Capacity all(kept.fabric, kept.policy.caps);
  for (const Entry& entry : kept.ledger.entries) {
    if (entry.state != EntryState::active || !entry.is_known) continue;
    const auto effect =
        effect_of(kept.fabric, *find_subject(kept.fabric, entry.subject), kept.policy.nic_action);
    all.take_out(effect);
  }
  for (const Entry& entry : kept.ledger.entries) {
    if (entry.state != EntryState::active) {
      EXPECT_FALSE(entry.ends && kept.ledger.time >= *entry.ends && entry.state != EntryState::released);
      continue;
    }
    const auto effect =
        effect_of(kept.fabric, *find_subject(kept.fabric, entry.subject), kept.policy.nic_action);
    ASSERT_EQ(all.broken_by(effect), std::nullopt);
    ASSERT_FALSE(entry.ends && kept.ledger.time >= *entry.ends) << "it outlived its time";
    ASSERT_FALSE(entry.held);
  }
  ASSERT_LE(kept.ledger.drained.size(), hosts_allowed(kept.policy.caps, kept.fabric.hosts().size()));
  ASSERT_GE(kept.ledger.time, before.time);
}

TEST(BlacklistPolicy, NoHistoryBreaksACapOrOutlivesItsTime) {
  for (std::uint64_t seed = 1; seed <= static_cast<std::uint64_t>(draws(40)); ++seed) {
    std::mt19937_64 random(seed);
    const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    Kept kept(below(2)
                  ? *make_clos({.leaves = 3, .spines = 4, .hosts_per_leaf = 4})
                  : *make_pod_clos({.pods = 2, .leaves = 2, .spines = 4, .cores = 8, .hosts_per_leaf = 6}));
    kept.policy.nic_action = below(2) ? NicAction::host : NicAction::rail;
    const auto any_subject = [&]() -> Subject {
      const auto& f = kept.fabric;
      switch (below(4)) {
        case 0:
          return ChannelId(static_cast<std::uint32_t>(below(f.channel_count())));
        case 1:
          return LinkId(static_cast<std::uint32_t>(below(f.link_count())));
        case 2:
          return f.nics()[below(f.nics().size())];
        default:
          return NodeId(static_cast<std::uint32_t>(below(f.node_count())));
      }
    };
    for (int i = 0; i < 400 && !testing::Test::HasFailure(); ++i) {
      const Ledger before = kept.ledger;
      std::vector<Evidence> evidence;
      std::vector<Command> commands;
      if (below(3) == 0) {
        std::vector<Fault> faults;
        for (std::size_t n = below(below(5) ? 3 : 12); n > 0; --n)
          faults.push_back({any_subject(), Cause::loss, below(3) ? Verdict::degraded : Verdict::failed,
                            1.0 - 0.2 * static_cast<double>(below(100)) / 100});
        evidence.push_back(kept.run(std::move(faults)));
      }
      const EntryId id(1 + below(kept.ledger.last_id + 1));
      switch (below(12)) {
        case 0:
          commands.push_back(Add{any_subject(), Seconds(below(7200)), "work", "ann"});
          break;
        case 1:
          commands.push_back(Release{id, "ann"});
          break;
        case 2:
          commands.push_back(Approve{id, "ann"});
          break;
        case 3:
          commands.push_back(Hold{id, "no", "ann"});
          break;
        case 4:
          commands.push_back(Resume{"ann"});
          break;
        default:
          break;
      }
      kept.pass(Seconds(below(4) ? below(300) : below(7200)), evidence, commands);
      expect_sound(kept, before);
    }
    if (testing::Test::HasFailure()) FAIL() << "seed " << seed;
  }
}

}  // namespace
}  // namespace weft::blacklist
