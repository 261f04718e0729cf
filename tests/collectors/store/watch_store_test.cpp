#include "collectors/store/watch_store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <barrier>
#include <fstream>
#include <thread>

#include "collectors/store/migrations.hpp"
#include "tests/collectors/store/store_rig.hpp"

namespace weft::store {
namespace {

using testing::HasSubstr;

std::vector<watch::StoredEvent> one_event() {
  return {stored(1, cable_event(1, "leaf1->spine2", IncidentState::open, kStart))};
}

TEST(Migrations, ADatabaseOfAnOlderVersionIsMigratedWithWhatItHas) {
  const StoreFile file;
  for (std::int64_t version = 0; version <= watch_schema().newest(); ++version) {
    const auto path = file.other(fmt::format("v{}.db", version));
    {
      auto old = Database::open(path, Database::Access::write).value();
      ASSERT_TRUE(migrate(old, watch_schema(), version));
      if (version >= 1) {
        ASSERT_TRUE(apply_events(old, one_event()));
      }
    }
    auto store = WatchStore::open(path, small_fabric());
    ASSERT_TRUE(store) << store.error().message;
    EXPECT_EQ(store->last_sequence(), version >= 1 ? 1u : 0u);
    EXPECT_EQ(incidents(store->database(), {})->size(), version >= 1 ? 1u : 0u);
  }
}

TEST(Databases, ManyWhoMakeOneAtOnceAllOpenIt) {
  const StoreFile file;
  for (int round = 0; round < 20; ++round) {
    const auto path = file.other(fmt::format("new{}.db", round));
    std::vector<Result<void>> said(6);
    std::barrier all(static_cast<std::ptrdiff_t>(said.size()));
    {
      std::vector<std::jthread> makers;
      for (auto& mine : said)
        makers.emplace_back([&] {
          all.arrive_and_wait();
          mine = Database::open(path, Database::Access::write).map([](const Database&) {});
        });
    }
    for (const auto& one : said) ASSERT_TRUE(one) << one.error().message;
  }
}

TEST(Migrations, ANewerOneIsRefusedAndSoIsThatOfAnotherProgram) {
  const StoreFile file;
  {
    auto store = file.open();
    ASSERT_TRUE(store.database().run("PRAGMA user_version=99"));
  }
  auto newer = WatchStore::open(file.path(), small_fabric());
  ASSERT_FALSE(newer);
  EXPECT_EQ(newer.error().kind, ErrorKind::conflict);
  EXPECT_THAT(newer.error().message, HasSubstr("version 99"));
  EXPECT_FALSE(open_to_read(file.path()));

  {
    auto other = Database::open(file.other("songs.db"), Database::Access::write).value();
    ASSERT_TRUE(other.run("CREATE TABLE songs(title TEXT)"));
  }
  const auto songs = WatchStore::open(file.other("songs.db"), small_fabric());
  ASSERT_FALSE(songs);
  EXPECT_THAT(songs.error().message, HasSubstr("another program"));
}

TEST(Migrations, AnOlderOneIsNotReadButSaysWhatMigratesIt) {
  const StoreFile file;
  {
    auto old = Database::open(file.path(), Database::Access::write).value();
    ASSERT_TRUE(migrate(old, watch_schema(), 1));
  }
  EXPECT_THAT(open_to_read(file.path()).error().message, HasSubstr("migrates it"));
}

TEST(WatchStoreFile, IsOfOneFabric) {
  const StoreFile file;
  { const auto store = file.open(); }
  const Fabric other = make_clos({.name = "other", .leaves = 2, .spines = 2, .hosts_per_leaf = 1}).value();
  const auto opened = WatchStore::open(file.path(), other);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind, ErrorKind::conflict);
  EXPECT_THAT(opened.error().message, HasSubstr("'other'"));
}

TEST(WatchStoreFile, IsNotReadableForAll) {
  const StoreFile file;
  const auto store = file.open();
  EXPECT_EQ(std::filesystem::status(file.path()).permissions() & std::filesystem::perms::others_all,
            std::filesystem::perms::none);
}

TEST(WatchStoreFile, ADamagedOneSaysWhatToDo) {
  const StoreFile file;
  { std::ofstream(file.path()) << std::string(10'000, 'x'); }
  const auto opened = WatchStore::open(file.path(), small_fabric());
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind, ErrorKind::invalid_input);
  EXPECT_THAT(opened.error().message, HasSubstr("event stream"));
}

TEST(WatchStoreFile, DamageInItsMiddleIsAnErrorNeverACrash) {
  const StoreFile file;
  {
    auto store = file.open();
    std::vector<watch::StoredEvent> events;
    for (std::uint64_t i = 1; i <= 400; ++i)
      events.push_back(stored(i, cable_event(i, "leaf1->spine2", IncidentState::open, kStart)));
    ASSERT_TRUE(store.apply(events));
  }
  const auto size = std::filesystem::file_size(file.path());
  ASSERT_GT(size, 100'000u);
  {
    std::fstream bytes(file.path(), std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekp(20'000);
    bytes << std::string(size - 30'000, '\xa5');
  }
  auto opened = open_to_read(file.path());
  const auto read = opened ? incidents(opened->database, {}) : Result<std::vector<files::EventReport>>();
  const auto checked = opened ? opened->database.check() : Result<void>();
  EXPECT_TRUE(!opened || !read || !checked);
  if (opened && !checked) {
    EXPECT_THAT(checked.error().message, HasSubstr("damaged"));
  }
}

TEST(WatchStoreFile, AFullDiskIsAnErrorAndLosesNothingFromBefore) {
  const StoreFile file;
  auto store = file.open();
  ASSERT_TRUE(store.apply(one_event()));
  // The database may not grow any more: as on a full disk (SQLITE_FULL).
  const auto pages = store.database().number("PRAGMA page_count").value();
  ASSERT_TRUE(store.database().run(fmt::format("PRAGMA max_page_count={}", pages)));
  std::vector<watch::StoredEvent> many;
  for (std::uint64_t i = 2; i < 500; ++i)
    many.push_back(stored(i, cable_event(i, "leaf1->spine2", IncidentState::open, kStart)));
  const auto full = store.apply(many);
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().kind, ErrorKind::absent);
  EXPECT_THAT(full.error().message, HasSubstr("the disk is full"));
  EXPECT_EQ(store.last_sequence(), 1u) << "all of them, or none";
  EXPECT_EQ(incidents(store.database(), {})->size(), 1u);

  ASSERT_TRUE(store.database().run("PRAGMA max_page_count=1073741823"));
  ASSERT_TRUE(store.apply(many)) << "with space again it goes on";
  EXPECT_EQ(store.last_sequence(), 499u);
}

TEST(WatchStoreBackup, IsWholeWhileAWatcherWrites) {
  const StoreFile file;
  auto store = file.open();
  std::jthread writer([&](const std::stop_token& stop) {
    for (std::uint64_t i = 1; !stop.stop_requested() && i < 5'000; ++i)
      static_cast<void>(
          store.apply(std::vector{stored(i, cable_event(i, "leaf1->spine2", IncidentState::open, kStart))}));
  });

  const auto done = back_up(file.path(), file.other("copy.db"));
  writer.request_stop();
  writer.join();
  ASSERT_TRUE(done) << done.error().message;
  auto copy = open_to_read(file.other("copy.db"));
  ASSERT_TRUE(copy) << copy.error().message;
  EXPECT_EQ(copy->fabric, small_fabric().name());
  EXPECT_EQ(incidents(copy->database, {})->size(), last_sequence(copy->database))
      << "no half of a transaction";
  EXPECT_FALSE(std::filesystem::exists(file.other("copy.db.part")));

  const auto again = back_up(file.path(), file.other("copy.db"));
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind, ErrorKind::conflict);
  EXPECT_FALSE(back_up(file.other("nothing.db"), file.other("x.db")));
}

watch::WatchState minute(Seconds at, watch::AgentPresence presence, std::uint64_t sent) {
  watch::WatchState state{.at = at, .plan = watch::PlanVersion(3)};
  state.channels.assign(small_fabric().channel_count(), {.fresh = true, .verdict = Verdict::healthy});
  for (auto& channel : state.channels) channel.sent_in_all = sent;
  for (const NodeId host : small_fabric().hosts())
    state.agents.push_back({.host = host, .presence = presence});
  return state;
}

TEST(WatchStoreNotes, KeepHostsPlansAndHistoryEveryTenSeconds) {
  const StoreFile file;
  auto store = file.open();
  for (int second = 0; second <= 40; ++second)
    ASSERT_TRUE(store.note(minute(kStart + Seconds(second),
                                  second < 25 ? watch::AgentPresence::present : watch::AgentPresence::silent,
                                  static_cast<std::uint64_t>(100 * second))));
  auto& database = store.database();
  EXPECT_EQ(database.number("SELECT count(*) FROM hosts WHERE presence='silent'"),
            static_cast<std::int64_t>(small_fabric().hosts().size()));
  EXPECT_EQ(database.number("SELECT since FROM hosts LIMIT 1"), Nanoseconds(kStart + Seconds(30)).count());
  EXPECT_EQ(database.number("SELECT version FROM plans"), 3);
  const auto points = channel_history(database, "leaf1->spine2", kStart, kStart + Seconds(60));
  ASSERT_EQ(points->size(), 4u);
  EXPECT_EQ((*points)[1].sample.sent, 1000u);
}

TEST(WatchStoreFile, EventsThatAFullDiskRefusedAreWrittenBeforeTheNextAndNoneIsLostOrDoubled) {
  const StoreFile file;
  auto store = file.open();
  ASSERT_TRUE(store.apply(one_event()));
  const auto pages = store.database().number("PRAGMA page_count").value();
  ASSERT_TRUE(store.database().run(fmt::format("PRAGMA max_page_count={}", pages)));
  std::uint64_t next = 2;
  const auto write_one = [&] {
    const auto event = stored(next, cable_event(next, "leaf1->spine2", IncidentState::open, kStart));
    ++next;
    return store.apply({&event, 1}).has_value();
  };
  while (write_one()) ASSERT_LT(next, 500u);
  ASSERT_FALSE(write_one());
  ASSERT_FALSE(write_one());
  EXPECT_EQ(store.last_sequence(), next - 4);
  ASSERT_TRUE(store.database().run("PRAGMA max_page_count=1073741823"));
  ASSERT_TRUE(store.apply({})) << "also without a new one";
  EXPECT_EQ(store.last_sequence(), next - 1);
  EXPECT_EQ(store.database().number("SELECT count(*) FROM events"), static_cast<std::int64_t>(next - 1));
}

TEST(WatchStoreFile, WhereTooManyEventsWaitTheFileDoesNotPassOverOne) {
  const StoreFile file;
  {
    auto store = file.open();
    ASSERT_TRUE(store.apply(one_event()));
    const auto pages = store.database().number("PRAGMA page_count").value();
    ASSERT_TRUE(store.database().run(fmt::format("PRAGMA max_page_count={}", pages)));
    const auto event = cable_event(1, "leaf1->spine2", IncidentState::open, kStart);
    std::vector<watch::StoredEvent> many;
    for (std::uint64_t i = 2; i < 10'100; ++i) many.push_back(stored(i, event));
    ASSERT_FALSE(store.apply(many));
    ASSERT_TRUE(store.database().run("PRAGMA max_page_count=1073741823"));
    const auto later = stored(10'100, event);
    ASSERT_TRUE(store.apply({&later, 1}));
    EXPECT_EQ(store.last_sequence(), 10'001u) << "as if those behind had not come yet";
  }
}

TEST(WatchStoreIncidents, OneThatIsOpenWasBadUntilTheFabricWasWatchedLast) {
  const StoreFile file;
  auto store = file.open();
  ASSERT_TRUE(store.apply(
      std::vector{stored(1, cable_event(1, "leaf1->spine2", IncidentState::open, kStart)),
                  stored(2, cable_event(2, "leaf2->spine1", IncidentState::closed, kStart)),
                  stored(3, cable_event(3, "leaf3->spine1", IncidentState::recovering, kStart))}));
  const auto bad_of = [&](std::string_view link) {
    Nanoseconds all{};
    const auto found = offences(store.database(), {});
    for (const auto& offence : *found)
      if (offence.link == link) all += offence.bad;
    return all;
  };
  EXPECT_EQ(bad_of("leaf1--spine2"), Seconds(60)) << "as its event said";
  auto state = minute(kStart + Seconds(3600), watch::AgentPresence::present, 0);
  state.active = true;
  for (int i = 0; i < 3; ++i, state.at += Seconds(10)) ASSERT_TRUE(store.note(state));
  const auto until = kStart + Seconds(3620);
  EXPECT_EQ(bad_of("leaf1--spine2"), Seconds(3620)) << "seen for 60 s until 60 s after its begin, then on";
  EXPECT_EQ(bad_of("leaf2--spine1"), Seconds(60));
  EXPECT_EQ(bad_of("leaf3--spine1"), Seconds(60));
  const auto all = incidents(store.database(), {.from = kStart + Seconds(600)});
  ASSERT_TRUE(all);
  const auto open = std::ranges::find(*all, IncidentId(1), [](const auto& one) { return one.incident.id; });
  ASSERT_NE(open, all->end());
  EXPECT_EQ(open->incident.bad, Seconds(3620));
  EXPECT_EQ(open->incident.last_seen, Nanoseconds(until));
  const auto offended = offences(store.database(), {.from = kStart + Seconds(600)});
  ASSERT_EQ(offended->size(), 1u) << "those that are over were seen before that";
  EXPECT_EQ(offended->at(0).last_seen, Nanoseconds(until));
  state.active = false;
  state.at += Seconds(3600);
  for (int i = 0; i < 3; ++i, state.at += Seconds(10)) ASSERT_TRUE(store.note(state));
  EXPECT_EQ(bad_of("leaf1--spine2"), Seconds(3620)) << "who stands by hears nothing";
}

}  // namespace
}  // namespace weft::store
