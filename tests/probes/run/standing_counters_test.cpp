// Counters of an agent's NICs: read on a thread of their own, told when changed, never late for the agent.
#include "probes/run/standing_counters.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <semaphore>

namespace weft::run {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

/// NICs whose errors a test sets; says each time that it was read.
struct Nics {
  std::atomic<std::uint64_t> errors = 1;
  std::atomic<int> with_modules = 0, reads = 0;
  std::counting_semaphore<> read_once{0};

  ReadCounters reader() {
    return [this](bool with_modules_too, const std::stop_token&) {
      NicReading reading{.interface = "eth0", .driver = "any"};
      reading.driver_counters["rx_crc_errors"] = errors;
      with_modules += with_modules_too ? 1 : 0;
      ++reads;
      read_once.release();
      return std::vector<counters::NicAt>{{1h, "10.0.0.1", std::move(reading)}};
    };
  }
  /// A reading that began after this call is over, and what came of it is known.
  void wait_for_another() {
    for (const int until = reads + 3; reads < until;) read_once.acquire();
  }
};

constexpr CounterTiming kFast{.read = 1ms, .told = 1h};

TEST(StandingCounters, AreToldAtFirstAndThenWhenTheyChanged) {
  Nics nics;
  StandingCounters counters(nics.reader(), kFast);
  nics.wait_for_another();
  const auto first = counters.take();
  ASSERT_TRUE(first);
  EXPECT_THAT(*first, HasSubstr("\"port\":\"10.0.0.1\""));
  EXPECT_THAT(*first, HasSubstr("\"fcs_errors\":1"));
  nics.wait_for_another();
  EXPECT_FALSE(counters.take()) << "it was told";
  nics.errors = 5;
  nics.wait_for_another();
  const auto changed = counters.take();
  ASSERT_TRUE(changed);
  EXPECT_THAT(*changed, HasSubstr("\"fcs_errors\":5"));
  EXPECT_EQ(nics.with_modules, 1) << "modules are read seldom";
}

TEST(StandingCounters, AreToldAgainAfterAWhileWithModules) {
  Nics nics;
  StandingCounters counters(nics.reader(), {.read = 1ms, .told = 5ms});
  for (int told = 0; told < 3; nics.wait_for_another()) told += counters.take() ? 1 : 0;
  EXPECT_GE(nics.with_modules, 3);
}

TEST(StandingCounters, WhileTheBusIsAwayTheNewestOneWaitsAndOlderOnesAreDropped) {
  Nics nics;
  StandingCounters counters(nics.reader(), kFast);
  nics.wait_for_another();
  auto first = counters.take();
  ASSERT_TRUE(first);
  counters.give_back(*first);
  EXPECT_EQ(counters.take(), first);
  nics.errors = 5;
  nics.wait_for_another();
  counters.give_back(*first);  // it was being told meanwhile
  const auto waits = counters.take();
  ASSERT_TRUE(waits);
  EXPECT_THAT(*waits, HasSubstr("\"fcs_errors\":5"));
  EXPECT_FALSE(counters.take());
}

TEST(StandingCounters, WhatWasToldIsToldAgainToAWatcherThatBegins) {
  Nics nics;
  StandingCounters counters(nics.reader(), kFast);
  counters.report_again();  // nothing was read yet, or it waits
  nics.wait_for_another();
  const auto first = counters.take();
  ASSERT_TRUE(first);
  counters.report_again();
  EXPECT_EQ(counters.take(), first);
  EXPECT_FALSE(counters.take());
}

TEST(StandingCounters, EndAtOnce) {
  Nics nics;
  {
    StandingCounters counters(nics.reader(), {.read = 1h, .told = 1h});
    nics.read_once.acquire();
  }  // not after an hour
  std::binary_semaphore begun(0);
  std::optional<StandingCounters> slow;
  slow.emplace(
      [&](bool, const std::stop_token& stop) {
        begun.release();
        while (!stop.stop_requested()) std::this_thread::sleep_for(1ms);  // as a tool that hangs is ended
        return std::vector<counters::NicAt>{};
      },
      kFast);
  begun.acquire();
  slow.reset();
}

TEST(StandingCounters, OfNicsThatThisHostDoesNotHaveNothingIsTold) {
  const auto address = IpAddress::parse("192.0.2.77").value();
  const auto read = counters_of_nics({{"192.0.2.77", address}, {"nosuch0", address}});
  EXPECT_TRUE(read(true, {}).empty());
}

}  // namespace
}  // namespace weft::run
