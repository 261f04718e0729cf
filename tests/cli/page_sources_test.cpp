// What the page of `weft watch` shows beside the latest state.
#include "cli/page_sources.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "balancer/blacklist/ledger_json.hpp"
#include "tests/support/scratch_file.hpp"
#include "tests/support/standing_fleet.hpp"
#include "topology/model/clos.hpp"

namespace weft::cli {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::IsEmpty;

web::LinkSums bucket(int at, int length, std::uint64_t lost) {
  return {std::chrono::seconds(at), std::chrono::seconds(length), {100, lost}, {50, 0}};
}

TEST(Coarser, AddsUpNeighboursAndNeverOverAGap) {
  std::vector<web::LinkSums> sums;
  for (int i = 0; i < 10; ++i) sums.push_back(bucket(i * 10 + (i >= 5 ? 100 : 0), 10, 1));
  const auto wide = coarser(sums, 4);  // three together
  std::vector<std::pair<Nanoseconds, Nanoseconds>> spans;
  std::uint64_t sent = 0, lost = 0;
  for (const auto& one : wide) {
    spans.emplace_back(one.at, one.length);
    sent += one.a_to_b.sent + one.b_to_a.sent;
    lost += one.a_to_b.lost;
  }
  EXPECT_THAT(spans, testing::ElementsAre(std::pair(0s, 30s), std::pair(30s, 20s), std::pair(150s, 30s),
                                          std::pair(180s, 20s)));
  EXPECT_EQ(sent, 1500u);
  EXPECT_EQ(lost, 10u);
  EXPECT_EQ(coarser(sums, 10).size(), 10u);
  EXPECT_THAT(coarser({}, 10), IsEmpty());
}

std::string entry(const std::string& fabric, const std::string& spine) {
  return "{\"schema\":\"weft.blacklist/1\",\"id\":\"x\",\"fabric\":\"" + fabric +
         "\",\"layer\":\"roce\",\"a\":{\"node\":\"leaf1\",\"port\":3},\"b\":{\"node\":\"" + spine +
         "\",\"port\":1},\"class\":\"switch-switch\",\"verdict\":\"failed\",\"confidence\":0.99,"
         "\"evidence\":[\"38 of 4096 lost\"],\"first_seen\":\"2026-01-31T12:00:00Z\",\"last_seen\":"
         "\"2026-01-31T12:00:00Z\",\"expires\":\"2026-02-01T12:00:00Z\",\"owner\":\"weft\",\"actions\":[]}\n";
}

TEST(FileBlacklist, IsReadAgainWhenItChangesAndKeepsTheLastGoodOne) {
  const Fabric fabric = make_clos({.name = "lab", .leaves = 2, .spines = 2, .hosts_per_leaf = 2}).value();
  ScratchFile file(entry("lab", "spine1") + entry("elsewhere", "spine1") + entry("lab", "spine7"));
  const FileBlacklist blacklist(file.path(), fabric);
  const auto first = blacklist.avoided();
  ASSERT_EQ(first.links.size(), 1u) << first.trouble;
  EXPECT_EQ(first.links[0].link, fabric.find_link("leaf1--spine1").value());
  EXPECT_EQ(first.links[0].verdict, Verdict::failed);
  EXPECT_EQ(*first.links[0].until - first.links[0].first_seen, 24h);
  EXPECT_EQ(first.unknown, 1u);
  std::ofstream(file.path()) << "{ half a line";
  EXPECT_THAT(blacklist.avoided().trouble, HasSubstr(":1"));
  EXPECT_EQ(blacklist.avoided().links.size(), 1u) << "what was known stays, and the trouble is told";
  std::ofstream(file.path()) << "";
  EXPECT_THAT(blacklist.avoided().links, IsEmpty());
  EXPECT_EQ(blacklist.avoided().trouble, "");
  std::filesystem::remove(file.path());
  EXPECT_THAT(blacklist.avoided().trouble, HasSubstr("No such file"));
}

TEST(FileBlacklist, ShowsWhatTheActiveEntriesOfALedgerKeepAwayFrom) {
  const Fabric fabric = make_clos({.name = "lab", .leaves = 2, .spines = 2, .hosts_per_leaf = 2}).value();
  const auto line = [](blacklist::SubjectKind kind, std::string name, blacklist::EntryState state) {
    return blacklist::entry_line("lab", {.id = blacklist::EntryId(1),
                                         .subject = {kind, std::move(name)},
                                         .state = state,
                                         .evidence = {"31 of 1,790 lost"},
                                         .author = "weft"}) +
           "\n";
  };
  using enum blacklist::EntryState;
  using Kind = blacklist::SubjectKind;
  const ScratchFile file(line(Kind::channel, "leaf1->spine1", active) +
                         line(Kind::switch_, "spine2", active) + line(Kind::link, "leaf2--spine1", proposed) +
                         line(Kind::host, "host9", active));
  const auto avoided = FileBlacklist(file.path(), fabric).avoided();
  EXPECT_EQ(avoided.trouble, "");
  std::vector<std::string> links;
  for (const web::AvoidedLink& one : avoided.links) links.push_back(fabric.name_of(one.link));
  EXPECT_THAT(links, testing::ElementsAre("leaf1--spine1", "leaf1--spine2", "leaf2--spine2"));
  EXPECT_FALSE(avoided.links.at(0).until) << "until it is released";
  EXPECT_EQ(avoided.unknown, 1u);
}

struct Watched {
  Fabric fabric = make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 2}).value();
  watch::Watcher watcher{fabric, {}};
  Watched() {
    auto plan = fleet_plan(fabric, {});
    auto ends = fleet_ends(fabric, plan);
    watcher.learned(std::move(plan), watch::PlanVersion(1), std::move(ends), 0s);
  }
};

TEST(AskedPaths, AreAnsweredByTheThreadOfTheWatch) {
  const Watched watched;
  const auto link = watched.fabric.find_link("leaf1--spine2").value();
  AskedPaths asked;
  EXPECT_THAT(asked.ask(link, 5).value(), IsEmpty()) << "no watcher is active here: nobody waits for it";
  asked.answer(watched.watcher, 1s);
  std::jthread watch([&](const std::stop_token& stop) {
    for (; !stop.stop_requested(); std::this_thread::sleep_for(5ms)) asked.answer(watched.watcher, 1s);
  });
  const auto paths = asked.ask(link, 5);
  ASSERT_TRUE(paths) << paths.error().message;
  ASSERT_EQ(paths->size(), 5u);
  EXPECT_TRUE(std::ranges::any_of(paths->front().channels,
                                  [&](ChannelId channel) { return Fabric::link_of(channel) == link; }));
}

TEST(AskedPaths, AWatchThatIsBusyIsNotWaitedForLong) {
  const Watched watched;
  AskedPaths asked;
  asked.answer(watched.watcher, 1s);
  const auto paths = asked.ask(LinkId(0), 5);
  ASSERT_FALSE(paths);
  EXPECT_EQ(paths.error().kind, ErrorKind::timeout);
  asked.answer(watched.watcher, 2s);  // whoever asked is gone
}

}  // namespace
}  // namespace weft::cli
