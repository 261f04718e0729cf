// Agents and watchers over a real nats-server with JetStream on loopback.
#include "collectors/bus/watch_link.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/collectors/bus/watch_rig.hpp"

namespace weft::bus {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

TEST(WatchLink, CarriesAWindowFromAnAgentToTheWatcherAndAcknowledgesIt) {
  const auto nats = server();
  const auto link = watcher(nats);
  const auto host = agent(nats, "host2.cluster");
  ASSERT_TRUE(host->publish({7, 1}, window("one")));
  EXPECT_THAT(acknowledged(*host, 1), ::testing::ElementsAre(watch::MessageId{7, 1}));
  const auto windows = fetched(*link.feed, 1);
  ASSERT_EQ(windows.size(), 1u);
  EXPECT_EQ(windows[0].host, "host2.cluster");
  EXPECT_EQ(windows[0].sequence, 1u);
  EXPECT_EQ(windows[0].bytes, window("one"));
  const auto none = link.feed->fetch(10, 50ms);
  ASSERT_TRUE(none) << none.error().message;
  EXPECT_TRUE(none->empty());
}

TEST(WatchLink, AWindowSentTwiceIsKeptOnce) {
  const auto nats = server();
  const auto link = watcher(nats);
  const auto host = agent(nats, "host1");
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(host->publish({7, 1}, window("one")));
  ASSERT_TRUE(host->publish({7, 2}, window("two")));
  EXPECT_EQ(acknowledged(*host, 4).size(), 4u);
  const auto windows = fetched(*link.feed, 2);
  ASSERT_EQ(windows.size(), 2u);
  EXPECT_EQ(windows[1].bytes, window("two"));
}

TEST(WatchLink, AWatcherBeginsWhereItSays) {
  const auto nats = server();
  const auto link = watcher(nats);
  const auto host = agent(nats, "host1");
  for (std::uint64_t i = 0; i < 10; ++i) ASSERT_TRUE(host->publish({7, i}, window("x")));
  ASSERT_EQ(acknowledged(*host, 10).size(), 10u);
  const auto all = watcher(nats);
  EXPECT_EQ(fetched(*all.feed, 10).size(), 10u);
  const auto later = watcher(nats, {.windows_behind = 6});
  const auto windows = fetched(*later.feed, 4);
  ASSERT_EQ(windows.size(), 4u);
  EXPECT_EQ(windows.front().sequence, 7u);
}

TEST(WatchLink, CarriesWordsBothWays) {
  const auto nats = server();
  const auto link = watcher(nats);
  const auto one = agent(nats, "host1");
  const auto other = agent(nats, "host2.cluster");
  ASSERT_TRUE(one->send_text("here"));
  std::vector<watch::AgentWord> said;
  for (const auto until = std::chrono::steady_clock::now() + kSoon;
       said.empty() && std::chrono::steady_clock::now() < until; std::this_thread::sleep_for(1ms))
    said = link.feed->words();
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0].host, "host1");
  EXPECT_EQ(said[0].text, "here");
  const std::string plan(2'000'000, 'p');  // longer than the server takes at once
  ASSERT_TRUE(link.feed->send_to("host1", plan));
  const auto heard = one->next_word(kSoon);
  ASSERT_TRUE(heard && *heard);
  EXPECT_TRUE(**heard == plan);
  const auto nothing = other->next_word(50ms);
  ASSERT_TRUE(nothing);
  EXPECT_FALSE(*nothing);
}

TEST(WatchLink, CarriesCountersOfEachHostAndOneThatTellsTooMuchTakesNoPlaceOfOthers) {
  const auto nats = server();
  const auto link = watcher(nats);
  const auto one = agent(nats, "host1");
  const auto other = agent(nats, "host2.cluster");
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(one->report_counters(std::string(200'000, 'x')));
  std::vector<watch::AgentWord> told;
  const auto hear = [&](std::string_view host) {
    for (const auto until = std::chrono::steady_clock::now() + kSoon;
         std::ranges::find(told, host, &watch::AgentWord::host) == told.end() &&
         std::chrono::steady_clock::now() < until;
         std::this_thread::sleep_for(1ms)) {
      auto more = link.feed->counters();
      told.insert(told.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    }
  };
  hear("host1");
  ASSERT_TRUE(other->report_counters("{}"));
  hear("host2.cluster");
  ASSERT_FALSE(told.empty());
  EXPECT_EQ(told.front().host, "host1");
  // The rest of what host1 told may come behind it.
  const auto of_other = std::ranges::find(told, "host2.cluster", &watch::AgentWord::host);
  ASSERT_NE(of_other, told.end());
  EXPECT_EQ(of_other->text, "{}");
  EXPECT_TRUE(link.feed->words().empty()) << "they are no words";
}

TEST(WatchLink, EventsAreAppendedBehindTheLastOfTheirIncidentAndReadInOrder) {
  const auto nats = server();
  const auto link = watcher(nats);
  const auto none = link.events->read_behind(0, 10);
  ASSERT_TRUE(none) << none.error().message;
  EXPECT_TRUE(none->empty());
  const auto first = link.events->append(5, 0, "a");
  ASSERT_TRUE(first) << first.error().message;
  ASSERT_TRUE(link.events->append(6, 0, "b"));
  const auto third = link.events->append(5, *first, "c");
  ASSERT_TRUE(third) << third.error().message;
  for (const std::uint64_t last : {std::uint64_t{0}, *first}) {
    const auto refused = link.events->append(5, last, "d");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::conflict);
  }
  const auto read = link.events->read_behind(0, 10);
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), 3u);
  EXPECT_EQ(read->at(2).incident, 5u);
  EXPECT_EQ(read->at(2).text, "c");
  const auto newest = link.events->last_of(5);
  ASSERT_TRUE(newest && *newest);
  EXPECT_EQ((*newest)->sequence, *third);
  EXPECT_EQ((*newest)->text, "c");
  EXPECT_FALSE(link.events->last_of(7).value());
  const auto some = link.events->read_behind(*first, 1);
  ASSERT_TRUE(some);
  ASSERT_EQ(some->size(), 1u);
  EXPECT_EQ(some->at(0).text, "b");
  const auto last = link.events->read_behind(some->at(0).sequence, 10);
  ASSERT_TRUE(last);
  ASSERT_EQ(last->size(), 1u);
}

TEST(WatchLink, SharedValuesCompareAndSet) {
  const auto nats = server();
  const auto link = watcher(nats);
  const auto other = watcher(nats);
  const auto absent = link.values->get("mutes");
  ASSERT_TRUE(absent) << absent.error().message;
  EXPECT_EQ(absent->revision, 0u);
  const auto revision = link.values->put("mutes", 0, "[]");
  ASSERT_TRUE(revision) << revision.error().message;
  const auto seen = other.values->get("mutes");
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->text, "[]");
  ASSERT_TRUE(other.values->put("mutes", seen->revision, "[1]"));
  const auto stale = link.values->put("mutes", *revision, "[2]");
  ASSERT_FALSE(stale);
  EXPECT_EQ(stale.error().kind, ErrorKind::conflict);
}

TEST(WatchLink, AFrozenHolderLosesTheLeaseAndCannotWriteEvents) {
  const auto nats = server();
  const auto frozen = watcher(nats, {.lease_time = 500ms});
  const auto standby = watcher(nats, {.lease_time = 500ms});
  EXPECT_TRUE(frozen.lease->hold("one").value());
  const auto event = frozen.events->append(1, 0, "by the first");
  ASSERT_TRUE(event);
  for (int i = 0; i < 4; ++i) {  // renewed: nobody takes it over
    EXPECT_FALSE(standby.lease->hold("two").value());
    std::this_thread::sleep_for(300ms);
    EXPECT_TRUE(frozen.lease->hold("one").value());
  }
  EXPECT_FALSE(standby.lease->hold("two").value());
  std::this_thread::sleep_for(600ms);
  EXPECT_TRUE(standby.lease->hold("two").value());
  ASSERT_TRUE(standby.events->append(1, *event, "by the second"));
  const auto stale = frozen.events->append(1, *event, "by the first, thawed");
  ASSERT_FALSE(stale);
  EXPECT_EQ(stale.error().kind, ErrorKind::conflict);
  EXPECT_FALSE(frozen.lease->hold("one").value());
  ASSERT_TRUE(standby.lease->release());
  EXPECT_TRUE(frozen.lease->hold("one").value()) << "what was given up is taken at once";
}

TEST(WatchLink, AnAgentWorksWhileTheServerIsAwayAndGoesOnWhenItIsBack) {
  auto nats = server(free_port());
  const auto link = watcher(nats);
  const auto host = agent(nats, "host1");
  ASSERT_TRUE(host->publish({7, 0}, window("x")));
  ASSERT_EQ(acknowledged(*host, 1).size(), 1u);
  nats.child().stop(0s);
  const auto until = std::chrono::steady_clock::now() + kSoon;
  Result<void> sent;
  while (sent && std::chrono::steady_clock::now() < until) sent = host->publish({7, 1}, window("y"));
  ASSERT_FALSE(sent);
  EXPECT_THAT(sent.error().message, HasSubstr("NATS server"));
  const auto away = link.feed->fetch(1, 10ms);
  EXPECT_TRUE(!away || away->size() == 1) << "what came before it went may still be read";
  ASSERT_TRUE(nats.restart());
  sent = host->publish({7, 1}, window("y"));
  for (; !sent && std::chrono::steady_clock::now() < until; std::this_thread::sleep_for(10ms))
    sent = host->publish({7, 1}, window("y"));
  ASSERT_TRUE(sent) << sent.error().message;
  while (acknowledged(*host, 1).empty()) {
    ASSERT_LT(std::chrono::steady_clock::now(), until);
    static_cast<void>(host->publish({7, 1}, window("y")));
  }
  const auto windows = fetched(*link.feed, away && away->size() == 1 ? 1 : 2);
  ASSERT_FALSE(windows.empty());
  EXPECT_EQ(windows.back().bytes, window("y"));
}

}  // namespace
}  // namespace weft::bus
