// The doctor on a large fleet: how long it asks 3,072 hosts, of which some hang, and how many of its troubles
// it names when they are put in one at a time.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <queue>
#include <random>
#include <set>

#include "probes/run/ask_hosts.hpp"
#include "tests/bench/first_hour/pieces.hpp"
#include "tests/support/doctored_fleet.hpp"

namespace weft::bench {
namespace {

constexpr std::size_t kHosts = 3072;
constexpr double kMedianLogin = 0.5;  // seconds
constexpr double kSpread = 0.6;       // of the logarithm: 1 of 100 logins takes above 2 s
constexpr double kHang = 0.01;

/// Seconds until a host answers; none: it hangs.
std::vector<std::optional<double>> drawn_logins(std::size_t hosts) {
  std::mt19937_64 random(17);
  std::lognormal_distribution<double> login(std::log(kMedianLogin), kSpread);
  std::bernoulli_distribution hangs(kHang);
  std::vector<std::optional<double>> logins;
  for (std::size_t i = 0; i < hosts; ++i)
    logins.push_back(hangs(random) ? std::nullopt : std::optional(login(random)));
  return logins;
}

/// The same state machine that starts the launchers, by a clock of its own: starting one costs nothing.
double simulated_seconds(const std::vector<std::optional<double>>& logins) {
  using End = std::pair<Nanoseconds, std::size_t>;
  run::Gathering gathering(logins.size(), {});
  std::priority_queue<End, std::vector<End>, std::greater<>> ends;
  Nanoseconds now{};
  while (!gathering.done()) {
    for (auto host = gathering.next(now); host; host = gathering.next(now))
      if (logins[*host])
        ends.emplace(now + Nanoseconds(static_cast<std::int64_t>(*logins[*host] * 1e9)), *host);
    now = std::max(
        now, ends.empty() ? gathering.wakes_at(now) : std::min(gathering.wakes_at(now), ends.top().first));
    for (; !ends.empty() && ends.top().first <= now; ends.pop()) gathering.ended(ends.top().second);
    gathering.overdue(now);
  }
  return std::chrono::duration<double>(now).count();
}

/// Processes that sleep as long: what forks, pipes and the reading cost is in it; ssh's keys are not.
double real_seconds(const std::vector<std::optional<double>>& logins) {
  const auto ask = [&](std::size_t host, os::ChildSpec spec) {
    spec.argv = {"sleep", logins[host] ? fmt::format("{:.3f}", *logins[host]) : "1000"};
    return os::ChildProcess::start(spec);
  };
  return milliseconds([&] {
           const auto answers = run::ask_hosts(logins.size(), ask, {}, [](std::size_t) {}, {});
           const auto late = std::ranges::count(answers, false, &run::HostAnswer::in_time);
           fmt::print("  {} hosts asked by processes that sleep, {} of them given up\n", answers.size(),
                      late);
         }) /
         1e3;
}

}  // namespace

void run_doctor_fleet(Figures& figures) {
  const auto logins = drawn_logins(kHosts);
  figures.add("doctor_3072_simulated_s", simulated_seconds(logins));
  figures.add("doctor_3072_s", real_seconds(logins), "at most 60");
}

void run_doctor_findings(Figures& figures) {
  std::set<HostTrouble> named;
  int cases = 0;
  int right = 0;
  for (const TroubleCase& each : trouble_cases()) {
    DoctoredFleet fleet;
    each.put_in(fleet);
    const auto report = fleet.examined();
    const bool is_right = report.findings.size() == 1 && report.findings[0].trouble == each.trouble &&
                          std::ranges::count(report.findings[0].hosts, each.host) == 1 &&
                          report.findings[0].remedy.find(each.command) != std::string::npos;
    ++cases;
    right += is_right ? 1 : 0;
    if (is_right) named.insert(each.trouble);
  }
  fmt::print("  {} cases of {} kinds, {} named alone, with host and command\n", cases,
             all_host_troubles().size(), right);
  figures.add("doctor_findings", static_cast<double>(named.size()), "at least 20");
}

}  // namespace weft::bench
