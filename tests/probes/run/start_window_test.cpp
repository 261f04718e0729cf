// Starting the agents of thousands of hosts, with made-up delays.
#include "probes/run/start_window.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace weft::run {
namespace {

using std::chrono::milliseconds;
using TimePoint = StartWindow::TimePoint;

struct Launch {
  double took = 0;          // seconds until all that do not hang have come
  std::size_t at_once = 0;  // most that were on their way together, those that hang for good left out
};

/// Logins of a log-normal delay of this median; `hanging` of them never come. Looked at as the coordinator
/// does.
Launch launch(std::size_t hosts, double median, double hanging) {
  std::mt19937_64 random(1);
  std::lognormal_distribution<double> delay(std::log(median), 0.6);
  std::bernoulli_distribution hangs(hanging);
  StartWindow window;
  std::map<std::string, std::optional<TimePoint>> comes;  // absent: never
  std::size_t begun = 0;
  Launch launch;
  for (TimePoint now{}; now < TimePoint{} + std::chrono::minutes(10); now += milliseconds(200)) {
    const auto is_awaited = [&](const std::string& host) { return !comes[host] || *comes[host] > now; };
    for (auto room = window.room(now, is_awaited); room > 0 && begun < hosts; --room, ++begun) {
      const auto host = std::to_string(begun);
      comes[host] = hangs(random) ? std::nullopt
                                  : std::optional(now + milliseconds(static_cast<int>(delay(random) * 1000)));
      window.note_start(host, now);
    }
    std::size_t coming = 0;
    for (const auto& [host, at] : comes) coming += at && *at > now ? 1 : 0;
    launch.at_once = std::max(launch.at_once, coming);
    launch.took = std::chrono::duration<double>(now.time_since_epoch()).count();
    if (begun == hosts && coming == 0) break;
  }
  return launch;
}

TEST(StartWindow, StartsThousandsOfAgentsAFewAtATimeInHalfAMinute) {
  const Launch all = launch(3072, 0.5, 0.01);
  EXPECT_LE(all.took, 35);
  EXPECT_LE(all.at_once, 128u);
  RecordProperty("seconds", std::to_string(all.took));
}

TEST(StartWindow, HostsThatHangHoldNobodyUpForLong) {
  EXPECT_LE(launch(3072, 0.5, 0.10).took, 2.5 * launch(3072, 0.5, 0).took);
  EXPECT_LE(launch(400, 0.5, 0.9).took, 60);
}

TEST(StartWindow, AFewAreStartedAtOnce) { EXPECT_LE(launch(64, 0.5, 0).took, 5); }

}  // namespace
}  // namespace weft::run
