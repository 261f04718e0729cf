#include "probes/diagnosis/load/load_cause.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "topology/base/check.hpp"
#include "topology/base/readable.hpp"
#include "topology/base/statistics.hpp"

namespace weft::diagnosis {
namespace {

/// How far a queue's whims may move a round from the fair share; which is not known beforehand.
constexpr std::array kWhims{0.01, 0.03, 0.09, 0.2};
/// The capacity itself is known to within a few per cent (headers, shaping).
constexpr std::array kTuned{0.96, 1.0};
/// From an offer to one so many times larger the share of a congested channel moves by ten times the usual
/// noise.
constexpr double kApart = 1.4;
/// How far apart the parts of a round lie that are tried, as a scatter: a tenth over the square root of 12.
constexpr double kPartOfRound = 0.03;

class Average {
 public:
  void add(double log_likelihood, const Passing& way) {
    if (values_.empty() || log_likelihood > top_) top_ = log_likelihood, best_ = way;
    values_.push_back(log_likelihood);
  }
  CauseFit result() const {
    double sum = 0;
    for (const double value : values_) sum += std::exp(value - top_);
    return {top_ + std::log(sum / static_cast<double>(values_.size())), best_};
  }

 private:
  std::vector<double> values_;
  double top_ = 0;
  Passing best_;
};

double log_likelihood(std::span<const PressedRound> rounds, const Passing& way, double scatter) {
  double sum = 0;
  for (const PressedRound& round : rounds)
    sum += log_student(round.got - round.offered * way.share(round.offered), scatter);
  return sum;
}

CauseFit fit_rate(std::span<const PressedRound> rounds, double noise) {
  Average average;
  for (double part = 0.01; part < 1.0; part *= 1.02) {
    const Passing way{part, 0.0};
    average.add(log_likelihood(rounds, way, noise), way);
  }
  return average.result();
}

CauseFit fit_congestion(std::span<const PressedRound> rounds, double noise) {
  Average average;
  for (const double tuned : kTuned)
    for (double other = 0.05; other < 5.0; other *= 1.08)
      for (const double whim : kWhims) {
        const Passing way{tuned, other};
        average.add(log_likelihood(rounds, way, std::hypot(noise, whim)), way);
      }
  return average.result();
}

/// Of a slow cable that comes and goes, the part of a round that it is there for: not at all, all of it (a
/// quarter of the rounds each, as where its periods are as long as they), or any part.
double log_likelihood_of_a_part(const PressedRound& round, double capacity, double noise) {
  constexpr int kParts = 10;
  const double whole = std::min(round.offered, 1.0);
  const double held = whole - std::min(whole, capacity);
  const auto at = [&](double part) { return std::exp(log_student(round.got - whole + part * held, noise)); };
  double between = 0;
  for (int i = 0; i < kParts; ++i) between += at((i + 0.5) / kParts) / kParts;
  return std::log(0.25 * at(0) + 0.25 * at(1) + 0.5 * between);
}

constexpr double kAlike = 1.1;  // offers up to so many times the least of a group belong to it

/// The means of the rounds of one offer.
struct Group {
  double least = 0;
  double offered = 0;
  double got = 0;
  double rounds = 0;
};

std::vector<Group> by_offer(std::vector<PressedRound> rounds) {
  std::ranges::sort(rounds, {}, &PressedRound::offered);
  std::vector<Group> groups;
  for (const PressedRound& round : rounds) {
    if (groups.empty() || round.offered > kAlike * groups.back().least)
      groups.push_back({.least = round.offered});
    Group& group = groups.back();
    group.rounds += 1;
    group.offered += (round.offered - group.offered) / group.rounds;
    group.got += (round.got - group.got) / group.rounds;
  }
  return groups;
}

constexpr Bytes kSmall(1024);         // a large probe may wait for its own time on a slow cable
constexpr std::size_t kMinTrips = 4;  // round trips over a channel to speak of
constexpr double kMinSpread = 0.2;    // of ln p99: what a scheduler's whims do to the slowest probe
constexpr double kMaxNats = 12.0;     // as much as a few load rounds
constexpr double kMaxLogWait =
    7.0;  // waits up to e^7, a thousand times the usual, are as likely as each other

double log_p99(const Observation& seen) {
  return std::log(std::max(static_cast<double>(seen.rtt->p99.count()) / 1000.0, 0.1));
}

bool counts(const Observation& seen) { return seen.rtt && seen.size <= kSmall; }

bool crosses(const PathTable& table, const Observation& seen, ChannelId channel) {
  for (const auto& ways : {std::optional(seen.path), seen.back}) {
    if (!ways) continue;
    const auto paths = table.paths(*ways);
    if (paths.size() == 1 &&
        std::ranges::find(table.channels(paths[0]), channel) != table.channels(paths[0]).end())
      return true;
  }
  return false;
}

}  // namespace

CauseFit fit_cause(Cause cause, std::span<const PressedRound> rounds, double noise) {
  WEFT_CHECK(cause == Cause::rate || cause == Cause::congestion);
  return cause == Cause::rate ? fit_rate(rounds, noise) : fit_congestion(rounds, noise);
}

CauseFit fit_rate_at_times(std::span<const PressedRound> rounds, double noise) {
  Average average;
  for (double capacity = 0.01; capacity < 1.0; capacity *= 1.1) {
    double sum = 0;
    for (const PressedRound& round : rounds)
      sum += log_likelihood_of_a_part(round, capacity, std::hypot(noise, kPartOfRound));
    average.add(sum, {capacity, 0.0});
  }
  return average.result();
}

bool offers_differ(std::span<const PressedRound> rounds) {
  if (rounds.empty()) return false;
  const auto [least, most] = std::ranges::minmax_element(rounds, {}, &PressedRound::offered);
  return most->offered > kApart * least->offered;
}

std::string offers_in_words(std::vector<PressedRound> rounds, Bandwidth capacity) {
  auto groups = by_offer(std::move(rounds));
  if (groups.size() > 3) groups = {groups.front(), groups[groups.size() / 2], groups.back()};
  std::string text;
  for (const Group& group : groups)
    text += fmt::format("{}of {}{} {}{}", text.empty() ? "" : ", ", readable(capacity * group.offered),
                        text.empty() ? " offered" : "", readable(capacity * group.got),
                        text.empty() ? " arrived" : "");
  return text;
}

Waits::Waits(const Observations& observations) : observations_(observations) {
  std::vector<double> all;
  for (const Observation& seen : observations.probes)
    if (counts(seen)) all.push_back(log_p99(seen));
  if (all.empty()) return;
  usual_ = median(all);
  spread_ = std::max(spread_about(all, usual_), kMinSpread);
}

double Waits::log_ratio(ChannelId channel) const {
  if (spread_ == 0) return 0;
  const auto [at, is_new] = known_.try_emplace(channel, 0.0);
  if (!is_new) return at->second;
  std::vector<double> over;
  for (const Observation& seen : observations_.probes)
    if (counts(seen) && crosses(observations_.paths, seen, channel)) over.push_back(log_p99(seen));
  if (over.size() < kMinTrips) return 0;
  const double shift = median(over) - usual_;
  // Congested half of the time it is seen: a wait of any length, or none. The median's own scatter is far
  // below the spread of single round trips; the spread is kept, because neighbours share their hosts' whims.
  const double waiting = shift > 0 && shift < kMaxLogWait ? 1.0 / kMaxLogWait : 0.0;
  const double none = std::exp(log_student(shift, spread_));
  at->second = std::min(std::log((0.5 * waiting + 0.5 * none) / none), kMaxNats);
  return at->second;
}

}  // namespace weft::diagnosis
