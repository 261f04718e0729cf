#include "collectors/store/channel_history.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectors/store/channel_recorder.hpp"
#include "tests/collectors/store/store_rig.hpp"

namespace weft::store {
namespace {

using testing::HasSubstr;

class ChannelHistory : public ::testing::Test {
 protected:
  StoreFile file_;
  WatchStore store_ = file_.open();
  Database& database_ = store_.database();
  std::int64_t layout_ = layout_of(database_, small_fabric()).value();
  ChannelId channel_ = small_fabric().find_channel("leaf1->spine2").value();

  /// Ten seconds in which each channel was crossed by 100 probes, and ours lost `lost`.
  void record_bucket(Seconds begin, std::uint64_t lost, Verdict verdict = Verdict::healthy) {
    HistoryBucket bucket{
        begin, std::vector<ChannelSample>(small_fabric().channel_count(), {100, 0, Verdict::healthy})};
    bucket.channels[channel_.value()] = {100, lost, verdict};
    const auto done = record(database_, layout_, bucket);
    ASSERT_TRUE(done) << done.error().message;
  }
  std::vector<HistoryPoint> history(Seconds from, Seconds until) {
    return channel_history(database_, "leaf1->spine2", from, until).value();
  }
  std::int64_t rows(Seconds length) {
    return database_.number("SELECT count(*) FROM history WHERE resolution=?", {std::int64_t{length.count()}})
        .value();
  }
};

TEST_F(ChannelHistory, TenSecondsBecomeMinutesAndHoursAndNothingIsCountedTwice) {
  for (Seconds t = kStart; t < kStart + Seconds(3 * 3600); t += Seconds(10)) {
    record_bucket(t, t == kStart + Seconds(20) ? 7 : 0,
                  t == kStart + Seconds(20) ? Verdict::failed : Verdict::healthy);
    ASSERT_TRUE(roll_up(database_, t + Seconds(10)));
  }
  EXPECT_THAT(rows(Seconds(10)), testing::AllOf(testing::Ge(720), testing::Le(726))) << "two hours of them";
  EXPECT_EQ(rows(Seconds(60)), 179) << "the last minute is not complete yet";
  EXPECT_EQ(rows(Seconds(3600)), 2);
  const auto points = history(kStart, kStart + Seconds(3 * 3600));
  std::uint64_t sent = 0, lost = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    sent += points[i].sample.sent, lost += points[i].sample.lost;
    if (i > 0) {
      EXPECT_EQ(points[i - 1].begin + points[i - 1].length, points[i].begin);
    }
  }
  EXPECT_EQ(sent, 3u * 360 * 100);
  EXPECT_EQ(lost, 7u);
  EXPECT_EQ(points.front().length, Seconds(60)) << "the finest that is kept of that time";
  EXPECT_EQ(points.front().sample.verdict, Verdict::failed) << "the worst of the minute";
  EXPECT_EQ(points.back().length, Seconds(10));
}

TEST_F(ChannelHistory, RollingUpMayStopAtAnyPointAndGoesOn) {
  for (Seconds t = kStart; t < kStart + Seconds(3600); t += Seconds(10)) record_bucket(t, 1);
  // A watcher that was away comes back: a bounded part at a time.
  for (int n = 0; n < 20; ++n) ASSERT_TRUE(roll_up(database_, kStart + Seconds(3700)));
  EXPECT_EQ(rows(Seconds(60)), 60);
  EXPECT_EQ(rows(Seconds(3600)), 1);
  ASSERT_TRUE(database_.execute("DELETE FROM history WHERE resolution<3600"));
  const auto points = history(kStart, kStart + Seconds(7200));
  ASSERT_EQ(points.size(), 1u);
  EXPECT_EQ(points[0].sample, (ChannelSample{36'000, 360, Verdict::healthy}));
}

TEST_F(ChannelHistory, AClockSetBackAddsToWhatIsThere) {
  record_bucket(kStart, 1);
  record_bucket(kStart, 2);
  EXPECT_EQ(history(kStart, kStart + Seconds(10)).front().sample, (ChannelSample{200, 3, Verdict::healthy}));
}

TEST_F(ChannelHistory, AClockThatRunsAheadForgetsNothing) {
  record_bucket(kStart, 1);
  ASSERT_TRUE(roll_up(database_, kStart + Seconds(1'000 * 86'400)));
  EXPECT_EQ(rows(Seconds(10)), 1);
}

TEST_F(ChannelHistory, IsReadByNameAcrossFabricFiles) {
  record_bucket(kStart, 1);
  const Fabric larger = make_clos({.leaves = 6, .spines = 2, .hosts_per_leaf = 2}).value();
  const auto layout = layout_of(database_, larger).value();
  EXPECT_NE(layout, layout_);
  EXPECT_EQ(layout_of(database_, larger), layout);
  HistoryBucket bucket{kStart + Seconds(10), std::vector<ChannelSample>(larger.channel_count())};
  bucket.channels[larger.find_channel("leaf1->spine2")->value()] = {50, 5, Verdict::degraded};
  ASSERT_TRUE(record(database_, layout, bucket));
  const auto points = history(kStart, kStart + Seconds(60));
  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[1].sample, (ChannelSample{50, 5, Verdict::degraded}));
  EXPECT_THAT(channel_history(database_, "leaf1->spine9", kStart, kStart + Seconds(60)).error().message,
              HasSubstr("leaf1->spine9"));
}

TEST_F(ChannelHistory, ShowsAllChannelsAtATime) {
  record_bucket(kStart, 1, Verdict::degraded);
  const auto at = channels_at(database_, small_fabric(), kStart + Seconds(9));
  ASSERT_TRUE(at && *at);
  EXPECT_EQ((*at)->begin, kStart);
  EXPECT_EQ((*at)->channels[channel_.value()], (ChannelSample{100, 1, Verdict::degraded}));
  EXPECT_FALSE(channels_at(database_, small_fabric(), kStart + Seconds(10))->has_value());
}

TEST_F(ChannelHistory, ADamagedRowIsNamedWithItsFile) {
  record_bucket(kStart, 1);
  ASSERT_TRUE(database_.execute("UPDATE history SET data=x'00'"));
  const auto read = channel_history(database_, "leaf1->spine2", kStart, kStart + Seconds(60));
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr(file_.path().string()));
}

watch::WatchState seen(Nanoseconds at, std::uint64_t sent, std::uint64_t lost) {
  watch::WatchState state{.at = at};
  state.channels.assign(small_fabric().channel_count(), {.fresh = true, .verdict = Verdict::healthy});
  for (auto& channel : state.channels) channel.sent_in_all = sent, channel.lost_in_all = lost;
  return state;
}

TEST(ChannelRecorder, MakesBucketsOfWhatWasCountedBetweenCalls) {
  ChannelRecorder recorder;
  for (int second = 3; second < 10; ++second)
    EXPECT_FALSE(recorder.take(seen(kStart + Seconds(second), 1000 + 10 * second, 0)));
  const auto bucket = recorder.take(seen(kStart + Seconds(10), 1110, 4));
  ASSERT_TRUE(bucket);
  EXPECT_EQ(bucket->begin, kStart);
  EXPECT_EQ(bucket->channels[0], (ChannelSample{60, 0, Verdict::healthy})) << "what was before is not of now";
  const auto next = recorder.take(seen(kStart + Seconds(20), 5, 0));
  ASSERT_TRUE(next);
  EXPECT_EQ(next->channels[0].sent, 20u);
  EXPECT_EQ(next->channels[0].lost, 4u);
  const auto restarted = recorder.take(seen(kStart + Seconds(30), 25, 0));
  EXPECT_EQ(restarted->channels[0].sent, 0u) << "a count that began anew";
}

}  // namespace
}  // namespace weft::store
