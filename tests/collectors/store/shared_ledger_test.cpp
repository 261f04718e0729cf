// A blacklist whose changes go over a log that several share.
#include "collectors/store/shared_ledger.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>

#include "tests/fakes/fake_change_log.hpp"
#include "tests/support/scratch_file.hpp"
#include "topology/os/scratch_directory.hpp"

namespace weft::store {
namespace {

using blacklist::Entry;
using blacklist::EntryId;
using blacklist::Ledger;
using blacklist::Stepped;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr UtcTime kNow{std::chrono::seconds(1'800'000'000)};

std::string drawn_id() {
  static std::uint64_t drawn = 0;
  return fmt::format("{:016x}", ++drawn);
}

/// A program on a machine with its copy, or on one where another has opened the same file.
struct Machine {
  explicit Machine(watch::ChangeLog& log_of_bus, const Machine* beside = nullptr)
      : path(beside ? beside->path : place.path() + ".db"), log(log_of_bus) {}
  ~Machine() {
    std::error_code ignored;
    for (const char* end : {"", "-wal", "-shm"}) std::filesystem::remove(path + end, ignored);
  }
  const ScratchFile place{""};
  const std::string path;
  watch::ChangeLog& log;
  LedgerStore copy = LedgerStore::open(path, "f", Database::Access::write).value();
  SharedLedger shared{copy, log, {drawn_id}};

  Result<Stepped> add(const std::string& name, SharedLedger* by = nullptr) {
    return (by ? *by : shared).change(kNow, [&](Ledger ledger) -> Result<Stepped> {
      ledger.entries.push_back({.id = EntryId(++ledger.last_id),
                                .subject = {blacklist::SubjectKind::host, name},
                                .first_seen = kNow,
                                .last_seen = kNow});
      ledger.last = blacklist::Now{kNow, {}, "boot"};
      return Stepped{std::move(ledger),
                     {{blacklist::EventKind::proposed, EntryId(ledger.last_id), name, "ann"}}};
    });
  }
  std::vector<std::string> names() {
    std::vector<std::string> all;
    const auto ledger = shared.read();
    if (!ledger) return {ledger.error().message};
    for (const Entry& entry : ledger->entries) all.push_back(entry.subject.name);
    return all;
  }
};

struct Shared {
  fakes::FakeChangeLog log;
  Machine one{log};
  Shared() { EXPECT_TRUE(one.shared.share(kNow)); }
};

TEST(SharedLedger, WhatOneChangesAllHaveWithItsHistory) {
  Shared bus;
  Machine two(bus.log);
  ASSERT_TRUE(bus.one.add("host1"));
  ASSERT_TRUE(two.add("host2"));
  ASSERT_TRUE(bus.one.shared.change(kNow, [](Ledger ledger) -> Result<Stepped> {
    ledger.entries.erase(ledger.entries.begin());
    return Stepped{std::move(ledger), {}};
  }));
  EXPECT_THAT(bus.one.names(), ElementsAre("host2"));
  EXPECT_THAT(two.names(), ElementsAre("host2"));
  EXPECT_EQ(bus.one.shared.read().value(), two.shared.read().value());
  const auto history = two.copy.history(std::nullopt, 10).value();
  ASSERT_EQ(history.size(), 2u);
  EXPECT_EQ(history[0].event.author, "ann");
}

TEST(SharedLedger, OfTwoChangesAtOnceNoneIsLost) {
  Shared bus;
  Machine two(bus.log);
  bus.log.before_append = [&] { EXPECT_TRUE(two.add("host2")); };
  ASSERT_TRUE(bus.one.add("host1"));
  EXPECT_THAT(bus.one.names(), ElementsAre("host2", "host1"));
  EXPECT_THAT(two.names(), ElementsAre("host2", "host1"));
}

TEST(SharedLedger, OfTwoProgramsOnOneFileNoneLosesWhatTheOtherChanged) {
  Shared bus;
  Machine beside(bus.log, &bus.one), elsewhere(bus.log);
  ASSERT_TRUE(beside.add("host1"));
  ASSERT_TRUE(elsewhere.add("host2"));
  ASSERT_TRUE(beside.add("host3"));
  ASSERT_TRUE(bus.one.add("host4"));
  for (Machine* machine : {&bus.one, &beside, &elsewhere})
    EXPECT_THAT(machine->names(), ElementsAre("host1", "host2", "host3", "host4"));
  Result<void> second;
  bus.log.before_append = [&] {
    auto other = LedgerStore::open(bus.one.path, "f", Database::Access::write);
    ASSERT_TRUE(other) << "to open it waits for nobody: " << other.error().message;
    second = other->set_shared(std::nullopt);
  };
  ASSERT_TRUE(bus.one.add("host5"));
  ASSERT_FALSE(second) << "the file is locked from reading the place to writing it";
  EXPECT_THAT(second.error().message, HasSubstr("another program is writing"));
}

TEST(SharedLedger, AChangeWhoseAnswerWasLostIsKeptOnce) {
  Shared bus;
  Machine two(bus.log);
  bus.log.answers_lost = 1;
  EXPECT_FALSE(bus.one.add("host1"));
  EXPECT_THAT(two.names(), ElementsAre("host1")) << "the log is the truth";
  EXPECT_THAT(bus.one.names(), ElementsAre("host1"));
  ASSERT_TRUE(bus.one.add("host2"));
  EXPECT_THAT(two.names(), ElementsAre("host1", "host2"));
}

TEST(SharedLedger, SharingOnceMoreAfterALostAnswerIsTheSame) {
  fakes::FakeChangeLog log;
  Machine one(log);
  log.answers_lost = 1;
  EXPECT_FALSE(one.shared.share(kNow));
  EXPECT_TRUE(one.shared.share(kNow));
  EXPECT_TRUE(one.shared.share(kNow));
  EXPECT_EQ(log.kept.size(), 1u);
  EXPECT_TRUE(one.add("host1"));
}

TEST(SharedLedger, ALedgerThatStoodBeforeIsTheFirstThatIsSharedAndAnotherIsRefused) {
  fakes::FakeChangeLog log, none;
  Machine one(log), two(log);
  const auto put = [](Machine& machine, const std::string& name) {
    fakes::FakeChangeLog own;
    SharedLedger alone(machine.copy, own, {drawn_id});
    ASSERT_TRUE(alone.share(kNow));
    ASSERT_TRUE(machine.add(name, &alone));
    ASSERT_TRUE(machine.copy.set_shared(std::nullopt));
  };
  put(one, "host1"), put(two, "host2");
  EXPECT_THAT(one.names(), ElementsAre(HasSubstr("weft blacklist share")));
  ASSERT_TRUE(one.shared.share(kNow));
  EXPECT_THAT(one.names(), ElementsAre("host1"));
  EXPECT_THAT(two.names(), ElementsAre(HasSubstr("it is a blacklist of its own")));
  const auto second = two.shared.share(kNow);
  ASSERT_FALSE(second);
  EXPECT_EQ(two.copy.shared().value(), std::nullopt) << "it is its own again";
  EXPECT_THAT(Machine(log).names(), ElementsAre("host1"));
}

TEST(SharedLedger, ACopyIsChangedOverItsBusAlone) {
  Shared bus;
  const auto step = [](Ledger ledger) { return Result<Stepped>(Stepped{std::move(ledger), {}}); };
  const auto refused = bus.one.copy.change(kNow, step);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::usage);
  ASSERT_TRUE(bus.one.copy.set_shared(std::nullopt));
  EXPECT_TRUE(bus.one.copy.change(kNow, step));
}

TEST(SharedLedger, ALogThatIsNotTheOneThatWasFollowedIsRefused) {
  Shared bus;
  ASSERT_TRUE(bus.one.add("host1"));
  const auto before = bus.log;
  ASSERT_TRUE(bus.one.add("host2"));
  const auto refused = [&](fakes::FakeChangeLog log, const char* why) {
    SharedLedger follower(bus.one.copy, log, {drawn_id});
    const auto read = follower.read();
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().kind, ErrorKind::conflict);
    EXPECT_THAT(read.error().message, HasSubstr(why));
    EXPECT_FALSE(bus.one.add("host9", &follower));
  };
  refused({}, "the bus has lost the blacklist");
  refused(before, "the bus has lost the blacklist");
  Shared anew;  // of as many changes
  ASSERT_TRUE(anew.one.add("host1"));
  refused(anew.log, "the bus has lost the blacklist");
  ASSERT_TRUE(anew.one.add("host2"));
  refused(anew.log, "another blacklist");
  ASSERT_TRUE(anew.one.add("host3"));
  refused(anew.log, "another blacklist");
  auto put_back = before;  // from a backup, and gone on since
  put_back.kept.push_back(anew.log.kept[2]);
  refused(put_back, "another blacklist");
  Machine late(put_back);
  EXPECT_THAT(late.names(), ElementsAre(HasSubstr("another blacklist")));
  auto forked = before;
  {
    Machine other(forked);
    ASSERT_TRUE(other.add("host5") && other.add("host6"));
  }
  refused(forked, "another blacklist");
  EXPECT_THAT(bus.one.names(), ElementsAre("host1", "host2")) << "nothing of it was taken";
}

TEST(SharedLedger, ACopyThatMissedWhatTheLogKeepsNoLongerSaysSoAndANewOneBeginsWithAWholeChange) {
  Shared bus;
  Machine two(bus.log);
  ASSERT_THAT(two.names(), ElementsAre());
  ASSERT_TRUE(bus.one.add("host1"));
  const auto touch = [](Ledger ledger) {
    ledger.time += std::chrono::seconds(1);
    return Result<Stepped>(Stepped{std::move(ledger), {}});
  };
  for (int i = 1; i <= 510; ++i) ASSERT_TRUE(bus.one.shared.change(kNow, touch));
  bus.log.kept.erase(bus.log.kept.begin(), bus.log.kept.begin() + 400);
  EXPECT_THAT(two.names(), ElementsAre(HasSubstr("the bus keeps no longer what came behind change 1")));
  EXPECT_THAT(Machine(bus.log).names(), ElementsAre("host1"));
  bus.log.kept.erase(bus.log.kept.begin(), bus.log.kept.end() - 3);
  EXPECT_THAT(Machine(bus.log).names(), ElementsAre(HasSubstr("no change any more that tells all")));
  EXPECT_THAT(bus.one.names(), ElementsAre("host1"));
}

TEST(SharedLedger, WhatIsNoChangeOfThisLedgerIsRefusedAndNamed) {
  for (const char* text : {"", "{}", "{\"schema\":\"weft.ledger_change/1\"}"}) {
    Shared bus;
    bus.log.kept.push_back({++bus.log.last_sequence, text});
    const auto read = bus.one.shared.read();
    ASSERT_FALSE(read) << text;
    EXPECT_THAT(read.error().message, HasSubstr("change 2 of the shared blacklist")) << text;
  }
}

TEST(SharedLedger, ChangesNothingWhereItMayNotAndWhereTheBusIsAway) {
  Shared bus;
  SharedLedger ledger(bus.one.copy, bus.log, {drawn_id, []() -> Result<void> {
                                                return fail(ErrorKind::conflict, "the lease was lost");
                                              }});
  EXPECT_FALSE(bus.one.add("host1", &ledger));
  bus.log.is_away = true;
  EXPECT_FALSE(bus.one.add("host1"));
  EXPECT_FALSE(bus.one.shared.read());
  bus.log.is_away = false;
  EXPECT_EQ(bus.log.kept.size(), 1u);
  EXPECT_THAT(bus.one.names(), ElementsAre());
}

TEST(SharedLedger, AFullDiskChangesTheCopyNotAndTheLogIsFollowedOnceThereIsRoom) {
  fakes::FakeChangeLog log;
  Machine two(log);
  ASSERT_TRUE(two.shared.share(kNow));
  const auto disk = os::ScratchDirectory::make().value();
  if (mount("tmpfs", disk.path().c_str(), "tmpfs", 0, "size=700k") != 0)
    GTEST_SKIP() << "a test with a full disk needs to mount one: root";
  const std::shared_ptr<void> mounted(nullptr, [&](void*) { umount2(disk.path().c_str(), MNT_DETACH); });
  {
    auto copy = LedgerStore::open(disk.path() / "bl.db", "f", Database::Access::write).value();
    SharedLedger one(copy, log, {drawn_id});
    ASSERT_TRUE(one.read());
    const std::string large(3000, 'x');
    for (int i = 0; i < 40; ++i) ASSERT_TRUE(two.add("host" + std::to_string(i) + large));
    const auto full = one.read();
    ASSERT_FALSE(full);
    EXPECT_EQ(full.error().kind, ErrorKind::absent) << full.error().message;
    const auto place = copy.shared().value();
    EXPECT_FALSE(two.add("host50", &one));
    EXPECT_EQ(log.kept.size(), 41u) << "nothing is told by who cannot keep it";
    EXPECT_EQ(copy.shared().value(), place);
    ASSERT_EQ(mount("tmpfs", disk.path().c_str(), "tmpfs", MS_REMOUNT, "size=32m"), 0);
    const auto there = one.read();
    ASSERT_TRUE(there) << there.error().message;
    EXPECT_EQ(there->entries.size(), 40u);
  }
}

}  // namespace
}  // namespace weft::store
