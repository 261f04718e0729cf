// The bus in memory does what collectors/bus does over JetStream (tests/collectors/bus/watch_link_test.cpp),
// and fails as it is told.
#include "tests/fakes/fake_watch_bus.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::watch {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using weft::fakes::FakeWatchBus;

const std::vector<std::byte> kWindow(3, std::byte{7});
constexpr MessageId kOne{1, 1};

TEST(FakeWatchBus, KeepsAWindowOnceAndAcknowledgesItEachTime) {
  FakeWatchBus bus;
  const auto agent = bus.agent("host1");
  ASSERT_TRUE(agent->publish(kOne, kWindow) && agent->publish(kOne, kWindow));
  EXPECT_THAT(agent->acknowledged(), ElementsAre(kOne, kOne));
  const auto read = bus.feed()->fetch(10, 0s);
  ASSERT_TRUE(read);
  ASSERT_EQ(read->size(), 1u);
  EXPECT_EQ(read->at(0).host, "host1");
}

TEST(FakeWatchBus, RefusesForgetsAndHoldsBackAsItIsTold) {
  using Answer = FakeWatchBus::Answer;
  FakeWatchBus bus;
  auto answer = Answer::refuses;
  bus.answers = [&](const auto&, auto) { return answer; };
  const auto agent = bus.agent("host1");
  ASSERT_TRUE(agent->publish(kOne, kWindow));
  EXPECT_THAT(agent->failed(), ElementsAre(kOne));
  EXPECT_THAT(bus.windows(), IsEmpty());
  answer = Answer::forgets;
  ASSERT_TRUE(agent->publish(kOne, kWindow));
  EXPECT_THAT(agent->failed(), ElementsAre(kOne));
  EXPECT_EQ(bus.windows().size(), 1u);
  answer = Answer::holds;
  ASSERT_TRUE(agent->publish(kOne, kWindow));
  EXPECT_THAT(agent->acknowledged(), IsEmpty());
  bus.acknowledge_held();
  EXPECT_THAT(agent->acknowledged(), ElementsAre(kOne));
}

TEST(FakeWatchBus, GoesAwayWithWhatIsUnderWay) {
  FakeWatchBus bus;
  bus.answers = [](const auto&, auto) { return FakeWatchBus::Answer::holds; };
  const auto agent = bus.agent("host1");
  ASSERT_TRUE(agent->publish(kOne, kWindow));
  bus.set_away(true);
  EXPECT_THAT(agent->failed(), ElementsAre(kOne));
  EXPECT_FALSE(agent->publish(kOne, kWindow));
  EXPECT_FALSE(bus.feed()->fetch(1, 0s));
  EXPECT_FALSE(bus.event_log()->append(1, 0, "a"));
  bus.set_away(false);
  EXPECT_TRUE(agent->publish(kOne, kWindow));
}

TEST(FakeWatchBus, AppendsBehindTheLastEventOfAnIncidentAlone) {
  FakeWatchBus bus;
  const auto log = bus.event_log();
  const auto first = log->append(5, 0, "a");
  ASSERT_TRUE(first);
  bus.write_event(5, "by another");
  const auto refused = log->append(5, *first, "b");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::conflict);
  EXPECT_EQ(log->read_behind(*first, 10)->size(), 1u);
}

TEST(FakeWatchBus, ALeaseRunsOutByTheClockOfTheTest) {
  FakeWatchBus bus;
  Nanoseconds now{};
  bus.clock = [&] { return now; };
  const auto one = bus.lease();
  const auto two = bus.lease();
  EXPECT_TRUE(one->hold("one").value());
  now = 2s;
  EXPECT_FALSE(two->hold("two").value());
  EXPECT_TRUE(one->hold("one").value());
  now = 5s;
  EXPECT_TRUE(two->hold("two").value());
  EXPECT_FALSE(one->hold("one").value());
  ASSERT_TRUE(two->release());
  EXPECT_TRUE(one->hold("one").value());
}

TEST(FakeWatchBus, SharedValuesCompareAndSet) {
  FakeWatchBus bus;
  const auto values = bus.values();
  EXPECT_EQ(values->get("mutes")->revision, 0u);
  const auto revision = values->put("mutes", 0, "[]");
  ASSERT_TRUE(revision);
  EXPECT_FALSE(values->put("mutes", 0, "[1]"));
  EXPECT_TRUE(values->put("mutes", *revision, "[1]"));
  EXPECT_EQ(values->get("mutes")->text, "[1]");
}

}  // namespace
}  // namespace weft::watch
