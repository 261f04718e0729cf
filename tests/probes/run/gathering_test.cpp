#include "probes/run/gathering.hpp"

#include <gtest/gtest.h>

#include <map>

namespace weft::run {
namespace {

using std::chrono::seconds;

constexpr GatherLimits kLimits{.each = seconds(20), .patience = seconds(3), .at_once = 2, .at_most = 4};

TEST(Gathering, AsksNoMoreAtOnceThanAllowedAndEachHostOnce) {
  Gathering gathering(3, kLimits);
  EXPECT_EQ(gathering.next(seconds(0)), 0u);
  EXPECT_EQ(gathering.next(seconds(0)), 1u);
  EXPECT_FALSE(gathering.next(seconds(0)));
  gathering.ended(0);
  EXPECT_EQ(gathering.next(seconds(1)), 2u);
  gathering.ended(1), gathering.ended(2);
  EXPECT_FALSE(gathering.next(seconds(1)));
  EXPECT_TRUE(gathering.done());
  EXPECT_EQ(gathering.done_count(), 3u);
}

TEST(Gathering, AHostThatTakesLongMakesRoomForAnother) {
  Gathering gathering(10, kLimits);
  while (gathering.next(seconds(0))) {
  }
  EXPECT_EQ(gathering.wakes_at(seconds(0)), Nanoseconds(seconds(3)));
  EXPECT_EQ(gathering.next(seconds(3)), 2u);
  EXPECT_EQ(gathering.next(seconds(3)), 3u);
  EXPECT_FALSE(gathering.next(seconds(7))) << "four are under way, more than which are never";
  EXPECT_EQ(gathering.wakes_at(seconds(7)), Nanoseconds(seconds(20)));
}

TEST(Gathering, GivesUpWhoseTimeIsOver) {
  Gathering gathering(2, kLimits);
  gathering.next(seconds(0));
  gathering.next(seconds(5));
  EXPECT_TRUE(gathering.overdue(seconds(19)).empty());
  EXPECT_EQ(gathering.overdue(seconds(20)), std::vector<std::size_t>{0});
  EXPECT_TRUE(gathering.overdue(seconds(21)).empty()) << "once";
  EXPECT_EQ(gathering.wakes_at(seconds(21)), Nanoseconds(seconds(25)));
}

TEST(Gathering, HostsThatHangCostTheirLimitTogether) {
  Gathering gathering(400, {.each = seconds(20), .patience = seconds(3), .at_once = 16, .at_most = 64});
  std::map<std::size_t, Nanoseconds> ends;  // of those that answer: after a second
  Nanoseconds now{};
  while (!gathering.done()) {
    for (auto host = gathering.next(now); host; host = gathering.next(now))
      if (*host % 20 != 0) ends[*host] = now + seconds(1);
    now = gathering.wakes_at(now);
    for (const auto& [host, end] : ends) now = std::min(now, end);
    std::erase_if(ends, [&](const auto& one) {
      if (one.second > now) return false;
      gathering.ended(one.first);
      return true;
    });
    gathering.overdue(now);
  }
  EXPECT_LT(now, Nanoseconds(seconds(60))) << "25 s of answers and 20 s of patience; 20 hosts in turn: 400 s";
}

}  // namespace
}  // namespace weft::run
