// A blacklist whose changes go over a log that several share.
#include "collectors/store/shared_ledger.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/fake_watch_bus.hpp"
#include "tests/support/scratch_file.hpp"

namespace weft::store {
namespace {

using blacklist::Entry;
using blacklist::EntryId;
using blacklist::Ledger;
using blacklist::Stepped;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr UtcTime kNow{std::chrono::seconds(1'800'000'000)};

/// A machine with its copy.
struct Machine {
  explicit Machine(fakes::FakeWatchBus& bus) : log(bus.event_log()) {}
  ~Machine() {
    std::error_code ignored;
    for (const char* end : {"", "-wal", "-shm"}) std::filesystem::remove(path + end, ignored);
  }
  const ScratchFile place{""};
  const std::string path = place.path() + ".db";
  LedgerStore copy = LedgerStore::open(path, "f", Database::Access::write).value();
  std::unique_ptr<watch::EventLog> log;
  SharedLedger shared{copy, *log};

  std::vector<std::string> names() {
    std::vector<std::string> all;
    for (const Entry& entry : shared.read().value().entries) all.push_back(entry.subject.name);
    return all;
  }
};

Result<Stepped> with_entry(Ledger ledger, const std::string& name) {
  ledger.entries.push_back({.id = EntryId(++ledger.last_id),
                            .subject = {blacklist::SubjectKind::host, name},
                            .first_seen = kNow,
                            .last_seen = kNow});
  ledger.last = blacklist::Now{kNow, {}, "boot"};
  return Stepped{std::move(ledger), {{blacklist::EventKind::proposed, EntryId(ledger.last_id), name, "ann"}}};
}

TEST(SharedLedger, WhatOneChangesAllHaveWithItsHistory) {
  fakes::FakeWatchBus bus;
  Machine one(bus), two(bus);
  ASSERT_TRUE(one.shared.change(kNow, [](Ledger l) { return with_entry(std::move(l), "host1"); }));
  ASSERT_TRUE(two.shared.change(kNow, [](Ledger l) { return with_entry(std::move(l), "host2"); }));
  ASSERT_TRUE(one.shared.change(kNow, [](Ledger ledger) -> Result<Stepped> {
    ledger.entries.erase(ledger.entries.begin());
    return Stepped{std::move(ledger), {}};
  }));
  EXPECT_THAT(one.names(), ElementsAre("host2"));
  EXPECT_THAT(two.names(), ElementsAre("host2"));
  EXPECT_EQ(one.shared.read().value(), two.shared.read().value());
  const auto history = two.copy.history(std::nullopt, 10).value();
  ASSERT_EQ(history.size(), 2u);
  EXPECT_EQ(history[0].event.author, "ann");
  Machine three(bus);
  EXPECT_THAT(three.names(), ElementsAre("host2")) << "a copy may begin at any time";
}

TEST(SharedLedger, OfTwoChangesAtOnceNoneIsLost) {
  fakes::FakeWatchBus bus;
  Machine one(bus), two(bus);
  int tries = 0;
  ASSERT_TRUE(one.shared.change(kNow, [&](Ledger ledger) {
    if (++tries == 1)
      EXPECT_TRUE(two.shared.change(kNow, [](Ledger l) { return with_entry(std::move(l), "host2"); }));
    return with_entry(std::move(ledger), "host1");
  }));
  EXPECT_EQ(tries, 2);
  EXPECT_THAT(one.names(), ElementsAre("host2", "host1"));
  EXPECT_THAT(two.names(), ElementsAre("host2", "host1"));
}

TEST(SharedLedger, ACopyThatMissedWhatTheLogLostGoesOnWithAWholeOneAlone) {
  fakes::FakeWatchBus bus;
  Machine one(bus);
  const auto change = [&](const std::string& name) {
    ASSERT_TRUE(one.shared.change(kNow, [&](Ledger l) { return with_entry(std::move(l), name); }));
  };
  change("host1"), change("host2");
  const auto kept = bus.events();
  fakes::FakeWatchBus rest;
  rest.write_event(0, kept[1].text);
  Machine two(rest);
  const auto read = two.shared.read();
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("the bus has lost the changes"));
  fakes::FakeWatchBus whole;
  whole.write_event(0, kept[0].text);
  Machine three(whole);
  EXPECT_THAT(three.names(), ElementsAre("host1"));
}

TEST(SharedLedger, WhatIsNoChangeOfThisLedgerIsRefusedAndNamed) {
  for (const char* text : {"", "{}", "{\"schema\":\"weft.ledger_change/1\"}"}) {
    fakes::FakeWatchBus bus;
    bus.write_event(0, text);
    Machine one(bus);
    const auto read = one.shared.read();
    ASSERT_FALSE(read) << text;
    EXPECT_THAT(read.error().message, HasSubstr("change 1 of the shared blacklist")) << text;
  }
}

TEST(SharedLedger, ChangesNothingWhereItMayNot) {
  fakes::FakeWatchBus bus;
  Machine one(bus);
  SharedLedger ledger(one.copy, *one.log,
                      []() -> Result<void> { return fail(ErrorKind::conflict, "the lease was lost"); });
  EXPECT_FALSE(ledger.change(kNow, [](Ledger l) { return with_entry(std::move(l), "host1"); }));
  EXPECT_TRUE(bus.events().empty());
  EXPECT_TRUE(ledger.read().value().entries.empty());
}

}  // namespace
}  // namespace weft::store
