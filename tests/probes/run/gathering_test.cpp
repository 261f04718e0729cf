#include "probes/run/gathering.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <list>
#include <map>
#include <random>
#include <set>

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

/// Hosts behind logins of made-up delays, in seconds; none: it hangs for good.
class Fleet {
 public:
  /// `hangs` of the hosts hang, drawn; `hung` do in any case.
  Fleet(std::size_t hosts, double hangs, const std::set<std::size_t>& hung = {}) {
    std::mt19937_64 random(17);
    std::lognormal_distribution<double> login(std::log(0.5), 0.6);
    std::bernoulli_distribution hang(hangs);
    for (std::size_t i = 0; i < hosts; ++i) {
      const double delay = login(random);
      logins_.push_back(hang(random) || hung.contains(i) ? std::nullopt : std::optional(delay));
    }
  }
  std::size_t size() const { return logins_.size(); }
  bool hangs(std::size_t host) const { return !logins_[host]; }
  /// When a login that begins now is through, or given up.
  Nanoseconds end(std::size_t host, Nanoseconds now, Nanoseconds limit) const {
    return now + (hangs(host) ? limit : Nanoseconds(static_cast<std::int64_t>(*logins_[host] * 1e9)));
  }

 private:
  std::vector<std::optional<double>> logins_;
};

struct Asked {
  double took = 0;          // seconds
  std::size_t at_once = 0;  // most processes of the head
  std::size_t relays = 0;
  std::set<std::size_t> answered;
};

/// A call of the head under way: a host, or a relay with those behind it.
struct Call {
  std::size_t number;
  std::vector<std::size_t> hosts;
  Nanoseconds through;              // the login of the first
  std::vector<Nanoseconds> ends{};  // of the others, once the relay asks them
  std::vector<bool> told{};
};

/// One look at a call; true: it has ended.
bool look(Gathering& gathering, Call& call, const Fleet& fleet, const GatherLimits& limits, Nanoseconds now,
          Asked& asked) {
  if (now < call.through || fleet.hangs(call.hosts[0])) return false;
  asked.answered.insert(call.hosts[0]);
  if (call.hosts.size() == 1) return true;
  gathering.heard(call.number, now);
  gathering.told(call.hosts[0]);
  if (call.ends.empty())
    for (const std::size_t host : call.hosts) call.ends.push_back(fleet.end(host, now, limits.each));
  call.told.resize(call.hosts.size());
  for (std::size_t i = 1; i < call.hosts.size(); ++i) {
    if (call.told[i] || now < call.ends[i]) continue;
    call.told[i] = true;
    if (fleet.hangs(call.hosts[i])) {
      gathering.ask_directly(call.hosts[i]);
    } else {
      gathering.told(call.hosts[i]);
      asked.answered.insert(call.hosts[i]);
    }
  }
  return std::count(call.told.begin(), call.told.end(), true) + 1 == std::ssize(call.hosts);
}

Asked ask(const Fleet& fleet, const GatherLimits& limits) {
  Gathering gathering(fleet.size(), limits);
  std::list<Call> under_way;
  Asked asked;
  Nanoseconds now{};
  for (; !gathering.done() && now < std::chrono::minutes(10); now += std::chrono::milliseconds(50)) {
    for (auto call = gathering.next(now); call; call = gathering.next(now)) {
      const auto& hosts = gathering.hosts_of(*call);
      asked.relays += hosts.size() > 1 ? 1 : 0;
      under_way.push_back({*call, hosts, fleet.end(hosts[0], now, limits.each)});
    }
    asked.at_once = std::max(asked.at_once, under_way.size());
    std::erase_if(under_way, [&](Call& call) {
      const bool ended = look(gathering, call, fleet, limits, now, asked);
      if (ended) gathering.ended(call.number);
      return ended;
    });
    for (const std::size_t late : gathering.overdue(now))
      std::erase_if(under_way, [&](const Call& call) { return call.number == late; });
  }
  asked.took = std::chrono::duration<double>(now).count();
  return asked;
}

std::size_t hosts_that_answer(const Fleet& fleet) {
  std::size_t count = 0;
  for (std::size_t host = 0; host < fleet.size(); ++host) count += fleet.hangs(host) ? 0 : 1;
  return count;
}

TEST(Gathering, ATreeAsksThousandsOfHostsByAFewProcesses) {
  const Fleet fleet(3072, 0.01);
  const Asked tree = ask(fleet, {.branch = 56});
  EXPECT_EQ(tree.relays, 55u);
  EXPECT_EQ(tree.answered.size(), hosts_that_answer(fleet));
  EXPECT_LE(tree.took, 60);
  EXPECT_LE(tree.at_once, 128u);
  const Asked calm = ask(Fleet(3072, 0), {.branch = 56});
  EXPECT_LE(calm.took, 10);
  EXPECT_EQ(calm.at_once, 55u);
  const Asked flat = ask(fleet, {});
  EXPECT_EQ(flat.relays, 0u);
  EXPECT_EQ(flat.answered, tree.answered);
  RecordProperty("tree", std::to_string(tree.took));
  RecordProperty("without_hangs", std::to_string(calm.took));
  RecordProperty("flat", std::to_string(flat.took));
}

TEST(Gathering, ARelayThatHangsLosesNobodyButItself) {
  const Fleet one(3072, 0, {56});
  EXPECT_EQ(ask(one, {.branch = 56}).answered.size(), 3071u);
  std::set<std::size_t> relays;
  for (std::size_t host = 0; host < 3072; host += 56) relays.insert(host);
  const Asked all = ask(Fleet(3072, 0, relays), {.branch = 56});
  EXPECT_EQ(all.answered.size(), 3072 - relays.size());
  EXPECT_LE(all.took, 90) << "ten seconds of silence, then as a flat one";
}

TEST(Gathering, ARelayThatLivesHasAsLongAsItsHostsNeedAndNoLonger) {
  Gathering gathering(4, {.each = seconds(20), .branch = 4, .silence = seconds(10)});
  ASSERT_EQ(gathering.next(seconds(0)), 0u);
  EXPECT_EQ(gathering.hosts_of(0).size(), 4u);
  for (int second = 1; second < 50; ++second) {
    gathering.heard(0, seconds(second));
    EXPECT_TRUE(gathering.overdue(seconds(second)).empty());
  }
  gathering.heard(0, seconds(50));
  EXPECT_EQ(gathering.overdue(seconds(50)), std::vector<std::size_t>{0}) << "it could talk for ever";
  EXPECT_EQ(gathering.done_count(), 0u);
  for (std::size_t host = 0; host < 4; ++host) {
    const auto call = gathering.next(seconds(70));
    ASSERT_TRUE(call);
    EXPECT_EQ(gathering.hosts_of(*call), std::vector<std::size_t>{host}) << "directly";
    gathering.ended(*call);
  }
  EXPECT_TRUE(gathering.done());
  EXPECT_EQ(gathering.done_count(), 4u);
}

}  // namespace
}  // namespace weft::run
