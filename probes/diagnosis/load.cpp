#include "probes/diagnosis/load.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "probes/diagnosis/load_cause.hpp"
#include "probes/diagnosis/load_evidence.hpp"
#include "probes/diagnosis/load_rounds.hpp"
#include "probes/diagnosis/robust.hpp"
#include "probes/diagnosis/waits.hpp"

namespace weft {
namespace {

constexpr double kFaultyChannels = 4.0;  // prior number in a fabric
constexpr std::size_t kMostFaults = 64;
constexpr double kAlike = 3.0;    // nats: a channel this close to the best is not told from it
constexpr double kLongest = 1e6;  // microseconds: a queue holds less
constexpr double kLostToo =
    3.0;  // nats: a queue that overflows loses small probes too, a slow cable does not
constexpr double kMostIdle = 12.0;      // nats: what is seen without load counts as much as a few load rounds
constexpr double kSmallProbe = 1024.0;  // bits of a small probe
constexpr double kSlowWait = 3.0;       // a shaper lets a probe wait for some of those before it
constexpr double kFull = 1.02;          // an offer beyond a capacity, by more than headers make
constexpr double kMostUnpressed = 2.0;  // nats: what rounds of one offer alone say of the cause is a guess
constexpr double kLeastEffect = 0.9;    // a fault passes at most this share of a capacity, or it is none

struct Hypothesis {
  Cause cause = Cause::rate;
  Passing best;
  double evidence = -1e300;  // log marginal likelihood over the ways, against the flows' predictions
};

std::vector<Passing> ways_of(Cause cause, double capacity) {
  std::vector<Passing> ways;
  if (cause == Cause::rate) {
    for (double part = 0.01; part < kLeastEffect; part *= 1.04) ways.push_back({part * capacity, 0.0});
    return ways;
  }
  // Capacity is known to within a few per cent (headers, shaping); other traffic up to five times of it.
  for (const double tuned : {0.92, 0.96, 1.0, 1.04})
    for (double part = 0.1; part < 5.0; part *= 1.08) ways.push_back({tuned * capacity, part * capacity});
  return ways;
}

class LoadSearch {
 public:
  LoadSearch(const Fabric& fabric, const Observations& observations, const DelayShifts& shifts,
             Report& report)
      : fabric_(fabric),
        rounds_(fabric, observations),
        shifts_(shifts),
        waits_(observations),
        report_(report) {
    prior_ = std::log(kFaultyChannels / static_cast<double>(fabric.channel_count()));
    explain_what_passes_nothing();
  }

  void run() {
    for (std::size_t found = 0; found < kMostFaults; ++found) {
      const auto candidates = suspects();
      if (candidates.empty()) return;
      name(candidates);
    }
  }

 private:
  struct Candidate {
    ChannelId channel;
    Hypothesis rate;
    Hypothesis congestion;
    double log_odds = 0;        // of being at fault, either way
    double for_congestion = 0;  // log odds, against rate
    double unloaded = 0;        // nats for congestion, of what was seen without load of ours
    bool pressed = false;       // by offers that differ
    const Hypothesis& best() const { return for_congestion > 0 ? congestion : rate; }
    double cause_probability() const { return 1.0 / (1.0 + std::exp(-std::abs(for_congestion))); }
  };

  /// What the flows over a channel offered and got in one round. Together: a queue that overflows does not
  /// drop from all flows alike, so only their sum tells what the channel passes.
  struct RoundOnChannel {
    double offered = 0;
    double got = 0;
    double predicted = 0;
    int flows = 0;
  };

  std::map<std::uint32_t, RoundOnChannel> rounds_on(ChannelId channel) const {
    std::map<std::uint32_t, RoundOnChannel> rounds;
    for (const std::uint32_t i : rounds_.flows_over(channel)) {
      const LoadFlow& flow = rounds_.flows()[i];
      RoundOnChannel& round = rounds[flow.round];
      round.offered += flow.offered;
      round.got += flow.share * flow.offered;
      round.predicted += flow.predicted * flow.offered;
      ++round.flows;
    }
    return rounds;
  }

  double gain(ChannelId channel, const std::map<std::uint32_t, RoundOnChannel>& rounds,
              const Passing& way) const {
    double sum = 0;
    for (const auto& [number, round] : rounds) {
      const double without = round.predicted / round.offered;
      const double with = std::min(without, way.share(rounds_.offered_to(channel, number)));
      const double share = round.got / round.offered;
      sum += log_student(share - with, rounds_.noise()) - log_student(share - without, rounds_.noise());
    }
    return sum;
  }

  Hypothesis weigh(ChannelId channel, Cause cause) const {
    Hypothesis hypothesis{.cause = cause};
    const auto ways = ways_of(cause, rounds_.capacity(channel));
    const auto rounds = rounds_on(channel);
    std::vector<double> gains;
    double top = -1e300;
    for (const Passing& way : ways) {
      gains.push_back(gain(channel, rounds, way));
      if (gains.back() <= top) continue;
      top = gains.back();
      hypothesis.best = way;
    }
    double sum = 0;
    for (const double value : gains) sum += std::exp(value - top);
    hypothesis.evidence = top + std::log(sum / static_cast<double>(ways.size()));
    return hypothesis;
  }

  /// What small probes met on the channel while there was no load of ours, for congestion against rate.
  /// `slow`: the rate, in bits per second, that the channel would be held to if it were no congestion.
  double idle_evidence(ChannelId channel, double slow) const {
    double nats = report_.has(channel, Cause::loss) ? kLostToo : 0.0;
    if (!shifts_.measured()) return nats;
    // A slow cable holds small probes up too, by their longer time on it; only a wait beyond that is a queue.
    const double longer = kSmallProbe * (1e6 / slow - 1e6 / rounds_.capacity(channel));
    const double shift = shifts_.of_channel[channel.value()] - kSlowWait * longer;
    if (std::isnan(shift)) return nats;
    // Under congestion a queue stands (any length) or, as likely, does not.
    const double queue =
        shift > shifts_.spread ? -std::log(shift * std::log(kLongest / shifts_.spread)) : -1e300;
    const double waits =
        std::log(0.5 + 0.5 * std::exp(std::min(queue - log_student(shift, shifts_.spread), 30.0)));
    return std::min(nats + waits, kMostIdle);
  }

  bool is_worth_weighing(ChannelId channel) const {
    const auto over = rounds_.flows_over(channel);
    return std::ranges::any_of(over, [this](std::uint32_t i) {
      const LoadFlow& flow = rounds_.flows()[i];
      return flow.share < flow.predicted - 3 * rounds_.noise();
    });
  }

  /// A channel that is down, or swallows packets of the size that load has, passes no flow: that is known
  /// already.
  void explain_what_passes_nothing() {
    for (std::uint32_t c = 0; c < fabric_.channel_count(); ++c) {
      if (!report_.has(ChannelId(c), Cause::mtu) && !report_.has(ChannelId(c), Cause::down)) continue;
      done_.insert(c);
      for (const std::uint32_t i : rounds_.flows_over(ChannelId(c))) {
        LoadFlow& flow = rounds_.flows()[i];
        flow.predicted = std::min(flow.predicted, flow.share);
      }
    }
  }

  /// The rounds that were held back by nothing but `channel`, if by anything: none of their flows shared
  /// another channel with more than that passes, or crosses a fault that is known already, and none was
  /// stalled.
  std::vector<PressedRound> pressed_rounds(ChannelId channel) const {
    const double capacity = rounds_.capacity(channel);
    std::vector<PressedRound> pressed;
    for (const auto& [number, round] : rounds_on(channel)) {
      const auto over = rounds_.flows_over(channel);
      const bool clean = std::ranges::all_of(over, [&](std::uint32_t i) {
        const LoadFlow& flow = rounds_.flows()[i];
        return flow.round != number || std::ranges::all_of(flow.channels, [&](ChannelId c) {
                 return c == channel || (!done_.contains(c.value()) &&
                                         rounds_.offered_to(c, number) < kFull * rounds_.capacity(c));
               });
      });
      const bool whole = rounds_.offered_to(channel, number) < round.offered * kFull;
      if (clean && whole) pressed.push_back({round.offered / capacity, round.got / capacity});
    }
    return pressed;
  }

  /// Which of the two it is, by the rounds that show the channel alone and by what was seen without load.
  void judge_cause(Candidate& candidate) const {
    const auto rounds = pressed_rounds(candidate.channel);
    candidate.pressed = offers_differ(rounds);
    candidate.for_congestion = candidate.congestion.evidence - candidate.rate.evidence;
    if (!rounds.empty()) {
      const double capacity = rounds_.capacity(candidate.channel);
      const auto fit = [&](Hypothesis& hypothesis) {
        const CauseFit best = fit_cause(hypothesis.cause, rounds, rounds_.noise());
        hypothesis.best = {best.best.capacity * capacity, best.best.other * capacity};
        return best.log_likelihood;
      };
      candidate.for_congestion = fit(candidate.congestion) - fit(candidate.rate);
    }
    if (!candidate.pressed)
      candidate.for_congestion = std::clamp(candidate.for_congestion, -kMostUnpressed, kMostUnpressed);
    candidate.unloaded =
        idle_evidence(candidate.channel, candidate.rate.best.capacity) + waits_.log_ratio(candidate.channel);
    candidate.congestion.evidence += candidate.unloaded;
    candidate.for_congestion += candidate.unloaded;
  }

  std::optional<Candidate> weighed(ChannelId channel) const {
    if (done_.contains(channel.value()) || !is_worth_weighing(channel)) return std::nullopt;
    Candidate candidate{channel, weigh(channel, Cause::rate), weigh(channel, Cause::congestion)};
    judge_cause(candidate);
    const double either = std::max(candidate.rate.evidence, candidate.congestion.evidence);
    // Against a healthy channel, and against one that only delays: it makes small probes wait as well, and
    // passes what is offered. So waiting alone makes no congestion of a channel that holds no flow back.
    const double neither = std::log1p(std::exp(prior_ + candidate.unloaded));
    candidate.log_odds = prior_ + either +
                         std::log(0.5 * (std::exp(candidate.rate.evidence - either) +
                                         std::exp(candidate.congestion.evidence - either))) -
                         neither;
    return candidate.log_odds > 0 ? std::optional(candidate) : std::nullopt;
  }

  /// Channels with odds above even of holding flows back, best first, and those about as good as the best.
  std::vector<Candidate> suspects() const {
    std::vector<Candidate> all;
    double best = 0;
    for (std::uint32_t c = 0; c < fabric_.channel_count(); ++c)
      if (const auto candidate = weighed(ChannelId(c))) {
        best = std::max(best, candidate->log_odds);
        all.push_back(*candidate);
      }
    std::erase_if(all, [best](const Candidate& c) { return c.log_odds < best - kAlike; });
    std::ranges::stable_sort(all, std::ranges::greater{}, &Candidate::log_odds);
    return all;
  }

  /// Takes the flows over a channel as explained by what was found there.
  void explain(const Candidate& first) {
    done_.insert(first.channel.value());
    const auto rounds = rounds_on(first.channel);
    for (const std::uint32_t i : rounds_.flows_over(first.channel)) {
      LoadFlow& flow = rounds_.flows()[i];
      const double share = first.best().best.share(rounds_.offered_to(first.channel, flow.round));
      // How flows, or they and other traffic, split what the channel passes is the queue's whim: no other
      // channel is to answer for it.
      const bool shared = first.best().cause == Cause::congestion || rounds.at(flow.round).flows > 1;
      flow.predicted = std::min(flow.predicted, shared ? std::min(share, flow.share) : share);
    }
  }

  void name(std::vector<Candidate> alike) {
    const Candidate first = alike.front();
    explain(first);
    // A channel that is still suspect when the first has explained its flows is a fault of its own, no rival.
    std::erase_if(alike,
                  [&](const Candidate& c) { return c.channel != first.channel && weighed(c.channel); });
    Found found{.cause = first.best().cause};
    double total = 0;
    for (const Candidate& candidate : alike) {
      found.channels.push_back(candidate.channel);
      total += std::exp(candidate.log_odds - first.log_odds);
      done_.insert(candidate.channel.value());
    }
    std::ranges::sort(found.channels);
    const double sure_of_cause = first.cause_probability();
    found.probability = sure_of_cause / (1.0 + std::exp(-first.log_odds - std::log(total)));
    describe(first, found);
    if (found.channels.size() > 1 || !first.pressed || found.probability < kSure)
      report_.add(Doubt{.channels = found.channels,
                        .cause = found.cause,
                        .probability = found.probability,
                        .passes = first.rate.best.capacity / rounds_.capacity(first.channel)});
    if (sure_of_cause < kSure)
      found.evidence.push_back(fmt::format("{} is as good as {} here: press it with less, then with more",
                                           to_string(Cause::rate), to_string(Cause::congestion)));
    report_.add(std::move(found));
  }

  void describe(const Candidate& first, Found& found) const {
    const Hypothesis& best = first.best();
    const double capacity = rounds_.capacity(first.channel);
    const double value =
        best.cause == Cause::rate ? best.best.capacity / capacity : best.best.share(0.95 * capacity);
    found.estimate = Estimate{value, std::max(value - 2 * rounds_.noise(), 0.0),
                              std::min(value + 2 * rounds_.noise(), 1.0)};
    auto rounds = pressed_rounds(first.channel);
    if (rounds.empty())
      for (const auto& [number, round] : rounds_on(first.channel))
        rounds.push_back({round.offered / capacity, round.got / capacity});
    const auto designed = Bandwidth::bit(capacity);
    found.evidence.push_back(fmt::format(
        "{}, where {} should pass; flows elsewhere get what they offer to within {:.0f} %",
        offers_in_words(std::move(rounds), designed), to_string(designed), 100 * rounds_.noise()));
    const double shift = shifts_.measured() ? shifts_.of_channel[first.channel.value()] : 0.0;
    if (best.cause == Cause::congestion && shift > 3 * shifts_.spread)
      found.evidence.push_back(
          fmt::format("small probes wait {:.0f} us there while weft sends no load", shift));
  }

  const Fabric& fabric_;
  LoadRounds rounds_;
  const DelayShifts& shifts_;
  Waits waits_;
  Report& report_;
  double prior_ = 0;
  std::set<std::uint32_t> done_;
};

}  // namespace

void report_loads(const Fabric& fabric, const Observations& observations, const DelayShifts& shifts,
                  Report& report) {
  if (observations.loads.empty()) return;
  LoadSearch(fabric, observations, shifts, report).run();
}

}  // namespace weft
