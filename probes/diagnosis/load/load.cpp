#include "probes/diagnosis/load/load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "probes/diagnosis/concentration.hpp"
#include "probes/diagnosis/load/load_cause.hpp"
#include "probes/diagnosis/load/load_elimination.hpp"
#include "probes/diagnosis/load/load_rounds.hpp"
#include "probes/diagnosis/report.hpp"
#include "topology/base/readable.hpp"
#include "topology/base/statistics.hpp"
#include "topology/findings/evidence_words.hpp"
#include "topology/model/fabric.hpp"

namespace weft::diagnosis {
namespace {

constexpr double kMax = 1e6;  // microseconds: a queue holds less
constexpr double kLostToo =
    3.0;  // nats: a queue that overflows loses small probes too, a slow cable does not
constexpr double kMaxIdle = 4.0;        // nats: a slow cable may be late too (kFault of the elimination)
constexpr double kSmallProbe = 1024.0;  // bits of a small probe
constexpr double kSlowWait = 3.0;       // a shaper lets a probe wait for some of those before it
constexpr double kFull = 1.02;          // an offer beyond a capacity, by more than headers make
constexpr double kMaxUnpressed = 2.0;   // nats: what rounds of one offer alone say of the cause is a guess
constexpr double kMaxAtTimes = 3.0;     // nats: what fits so much worse is not said to be as good
constexpr double kFaster = 1.1;         // a culprit that passes so many times more does not hide a slower one
constexpr double kSlowest = 0.01;       // share of its rate
constexpr double kPlanned = 0.95;       // of its capacity, what a plan offers a channel
constexpr double kMaybe = 0.6;          // that it is this channel, and not several others in series
constexpr double kUntested = 0.1;       // as a hypothesis: nothing speaks for a fault
constexpr double kMaxHeldBack = 0.9;    // of the flows over a channel: what holds back all of them stays
constexpr double kMaxHeldBackByItself = 0.05;  // of all flows: their hosts are late now and then
constexpr double kDip = 0.9;                   // share of its offer that a flow may miss without a question
constexpr double kShows = 1.25;                // a fault so far beyond the noise's limit shows with .99

/// Which of rate and congestion it is, and how the channel passes load then.
struct Judged {
  Cause cause = Cause::rate;
  Passing passing;         // shares of the capacity
  double probability = 0;  // of the cause
  bool pressed = false;    // by offers that differ
  bool at_times = false;   // a rate that comes and goes fits best, or about as well as the cause
  std::vector<PressedRound> rounds;
};

class LoadFindings {
 public:
  LoadFindings(const Fabric& fabric, const Observations& observations, const DelayShifts& shifts,
               Report& report)
      : fabric_(fabric),
        losses_(known_losses(fabric, report)),
        rounds_(fabric, observations, losses_),
        elimination_(fabric, rounds_),
        shifts_(shifts),
        waits_(observations),
        report_(report) {
    for (const LoadSuspicion& suspicion : elimination_.suspicions())
      for (const auto& alternative : suspicion.alternatives)
        suspects_.insert(alternative.begin(), alternative.end());
  }

  void run() {
    account_.assign(rounds_.flows().size(), Part::none);
    for (std::uint32_t i = 0; i < account_.size(); ++i) account_[i] = part_of(rounds_.flows()[i]);
    for (const LoadSuspicion& suspicion : elimination_.suspicions()) name(suspicion);
    note_unexplained();
    note_untested();
    fill_account();
    fill_sensitivity();
  }

 private:
  enum class Part { none, found, open, excused, tolerated, unexplained };

  /// What small probes met on the channel while there was no load of ours, for congestion against rate.
  /// `slow`: the rate, in bits per second, that the channel would be held to if it were no congestion.
  double idle_evidence(ChannelId channel, double slow) const {
    double nats = losses_[channel.value()].low > 0 ? kLostToo : 0.0;
    if (!shifts_.measured()) return nats;
    // A slow cable holds small probes up too, by their longer time on it; only a wait beyond that is a queue.
    const double longer = kSmallProbe * (1e6 / slow - 1e6 / rounds_.capacity(channel));
    const double shift = shifts_.of_channel[channel.value()] - kSlowWait * longer;
    if (std::isnan(shift)) return nats;
    // Under congestion a queue stands (any length) or, as likely, does not.
    const double queue = shift > shifts_.spread ? -std::log(shift * std::log(kMax / shifts_.spread)) : -1e300;
    const double waits =
        std::log(0.5 + 0.5 * std::exp(std::min(queue - log_student(shift, shifts_.spread), 30.0)));
    return nats + waits;
  }

  /// By rounds whose flows do not cross `but`: it held back what it carries at other times, as other traffic
  /// does, which takes a part of any offer.
  bool takes_of_any_offer(ChannelId channel, ChannelId but) const {
    const auto [known, is_new] = takes_.try_emplace({channel, but}, false);
    if (!is_new) return known->second;
    const auto meets_it = [&](const ChannelRound& round) {
      return std::ranges::any_of(rounds_.flows_over(channel), [&](std::uint32_t i) {
        const LoadFlow& flow = rounds_.flows()[i];
        return flow.round == round.round && std::ranges::count(flow.channels, but) > 0;
      });
    };
    known->second = std::ranges::any_of(rounds_.rounds_of(channel), [&](const ChannelRound& round) {
      return round.whole && round.reached <= elimination_.passes(channel) &&
             round.got < kDip * round.reached && !meets_it(round);
    });
    return known->second;
  }

  /// True when another suspect on the flow's path may have held it back, or a channel was overfilled there.
  /// `offered` becomes what a faster culprit before `channel` let through.
  bool is_clean(const LoadFlow& flow, ChannelId channel, const LoadSuspicion& suspicion,
                double& offered) const {
    bool before = true;
    for (const ChannelId c : flow.channels) {
      before &= c != channel;
      if (c == channel) continue;
      if (rounds_.round_of(c, flow.round)->offered > kFull * rounds_.capacity(c)) return false;
      const bool rival = std::ranges::any_of(
          suspicion.alternatives, [c](const auto& some) { return std::ranges::binary_search(some, c); });
      if (rival || !suspects_.contains(c)) continue;
      if (elimination_.passes(c) < kFaster * elimination_.passes(channel) || takes_of_any_offer(c, channel))
        return false;
      if (before) offered = std::min(offered, elimination_.passes(c));
    }
    return true;
  }

  /// The rounds that were held back by nothing but `channel`, if by anything.
  std::vector<PressedRound> pressed_rounds(ChannelId channel, const LoadSuspicion& suspicion) const {
    const double capacity = rounds_.capacity(channel);
    std::vector<PressedRound> pressed;
    for (const ChannelRound& round : rounds_.rounds_of(channel)) {
      bool clean = round.whole;
      double offered = 0;
      for (const std::uint32_t i : rounds_.flows_over(channel)) {
        const LoadFlow& flow = rounds_.flows()[i];
        if (!clean || flow.round != round.round) continue;
        double let_through = flow.offered;
        clean = is_clean(flow, channel, suspicion, let_through);
        offered += let_through;
      }
      if (clean) pressed.push_back({offered / capacity, round.got / capacity});
    }
    return pressed;
  }

  /// By the rounds that show the channel alone and by what was seen without load.
  Judged judge(ChannelId channel, const LoadSuspicion& suspicion) const {
    Judged judged{.rounds = pressed_rounds(channel, suspicion)};
    const double capacity = rounds_.capacity(channel);
    judged.pressed = offers_differ(judged.rounds);
    const CauseFit rate = fit_cause(Cause::rate, judged.rounds, rounds_.noise());
    const CauseFit congestion = fit_cause(Cause::congestion, judged.rounds, rounds_.noise());
    double for_congestion = congestion.log_likelihood - rate.log_likelihood;
    if (!judged.pressed) for_congestion = std::clamp(for_congestion, -kMaxUnpressed, kMaxUnpressed);
    const double slow = std::max(elimination_.passes(channel), kSlowest * capacity);
    for_congestion += std::min(idle_evidence(channel, slow) + waits_.log_ratio(channel), kMaxIdle);
    double at_times = fit_rate_at_times(judged.rounds, rounds_.noise()).log_likelihood - rate.log_likelihood;
    if (!judged.pressed) at_times = std::min(at_times, kMaxUnpressed);
    judged.cause = for_congestion > 0 && for_congestion >= at_times ? Cause::congestion : Cause::rate;
    judged.at_times = at_times > std::max(for_congestion, 0.0) - kMaxAtTimes;
    const double all = 1.0 + std::exp(for_congestion) + std::exp(at_times);
    judged.probability = std::max({1.0, std::exp(for_congestion), std::exp(at_times)}) / all;
    judged.passing = judged.cause == Cause::congestion ? congestion.best : rate.best;
    if (judged.rounds.empty()) judged.passing = {elimination_.passes(channel) / capacity, 0.0};
    return judged;
  }

  void name(const LoadSuspicion& suspicion) {
    if (suspicion.comes_and_goes) return add_suspicion(gathered_on(suspicion));
    const ChannelId first = suspicion.alternatives.front().front();
    const Judged judged = judge(first, suspicion);
    Found found{.cause = judged.cause, .probability = suspicion.probability * judged.probability};
    if (suspicion.alternatives.size() > 1)
      found.alternatives = suspicion.alternatives;
    else
      found.channels = suspicion.alternatives.front();
    describe(first, judged, found);
    if (judged.cause == Cause::congestion && elimination_.could_be_in_series_beside(first, suspicion)) {
      found.probability = std::min(found.probability, kMaybe);
      found.evidence.push_back("other channels of these paths, each with other traffic, may do the same");
    }
    if (judged.at_times && judged.cause == Cause::rate)
      found.probability = std::min(found.probability, kMaybe);
    if (suspicion.beside) {
      found.evidence.push_back(
          fmt::format("all these flows also cross {}: what comes and goes there would look the same",
                      fabric_.name_of(*suspicion.beside)));
    }
    const bool settled = found.alternatives.empty() && found.probability >= named_from(found.cause);
    for (const std::uint32_t i : suspicion.flows) account_[i] = settled ? Part::found : Part::open;
    add_hypotheses(suspicion, judged, found.probability);
    report_.add(std::move(found));
  }

  void add_hypotheses(const LoadSuspicion& suspicion, const Judged& judged, double probability) {
    if (suspicion.alternatives.size() == 1 && judged.pressed && probability >= kSure) return;
    std::set<ChannelId> channels;
    for (const auto& alternative : suspicion.alternatives)
      channels.insert(alternative.begin(), alternative.end());
    const ChannelId first = suspicion.alternatives.front().front();
    report_.add(Hypothesis{.channels = {channels.begin(), channels.end()},
                           .cause = judged.cause,
                           .probability = probability,
                           .passes = std::min(elimination_.passes(first) / rounds_.capacity(first), 0.99)});
  }

  void describe(ChannelId channel, const Judged& judged, Found& found) const {
    const double capacity = rounds_.capacity(channel);
    const double value =
        judged.cause == Cause::rate ? judged.passing.capacity : judged.passing.share(kPlanned);
    found.estimate = Estimate{value, std::max(value - 2 * rounds_.noise(), 0.0),
                              std::min(value + 2 * rounds_.noise(), 1.0)};
    auto rounds = judged.rounds;
    if (rounds.empty())
      for (const ChannelRound& round : rounds_.rounds_of(channel))
        rounds.push_back({round.offered / capacity, round.got / capacity});
    const auto designed = Bandwidth::bit(capacity);
    found.evidence.push_back(
        fmt::format("{}, where {} should pass; flows elsewhere get what they offer to within {:.0f} %",
                    offers_in_words(std::move(rounds), designed), readable(designed), 100 * rounds_.noise()));
    const double shift = shifts_.measured() ? shifts_.of_channel[channel.value()] : 0.0;
    if (judged.cause == Cause::congestion && shift > 3 * shifts_.spread)
      found.evidence.push_back(
          fmt::format("small probes wait {:.0f} us there while weft sends no load", shift));
    if (judged.at_times)
      found.evidence.push_back(
          "a rate that comes and goes, or other traffic: some rounds passed more than others");
    else if (judged.probability < kSure)
      found.evidence.push_back(fmt::format("{} is as good as {} here: press it with less, then with more",
                                           to_string(Cause::rate), to_string(Cause::congestion)));
  }

  /// Before load is judged: what a flow that got less than it offered owes to others.
  Part part_of(const LoadFlow& flow) const {
    if (flow.got_raw >= rounds_.whole_share() * flow.offered) return Part::none;
    if (flow.stalled) return Part::excused;
    if (flow.shared) return Part::none;  // it had no right to all of it
    if (rounds_.held_back(flow)) return Part::unexplained;
    return flow.got >= rounds_.whole_share() * flow.offered ? Part::found : Part::open;
  }

  /// A flow that was held back once, on a path that passed most of the others whole, met what passes; unless
  /// such flows lie on one cable.
  void note_unexplained() {
    Hypothesis hypothesis{.cause = Cause::rate, .probability = kUntested};
    const auto come_and_go = report_intermittent();
    for (const std::uint32_t i : elimination_.unexplained()) {
      if (come_and_go.contains(i)) continue;
      const LoadFlow& flow = rounds_.flows()[i];
      const bool dip = flow.got >= kDip * flow.offered;
      if (dip || passed_mostly(flow))
        account_[i] = Part::tolerated;
      else if (account_[i] == Part::unexplained)
        hypothesis.again.push_back(flow.path);
    }
    if (!hypothesis.again.empty()) report_.add(std::move(hypothesis));
  }

  /// Flows held back, by nothing that stays, on a channel that gathers them; as suspicions.
  std::set<std::uint32_t> report_intermittent() {
    std::vector<Traversal> traversals;
    for (const LoadFlow& flow : rounds_.flows()) traversals.push_back({flow.channels, false});
    for (const std::uint32_t i : elimination_.unexplained()) {
      const LoadFlow& flow = rounds_.flows()[i];
      traversals[i].odd = flow.got < kDip * flow.offered && !flow.stalled && !flow.shared;
    }
    std::set<std::uint32_t> told;
    for (const Concentration& found : concentrations(fabric_, std::move(traversals), kMaxHeldBackByItself)) {
      const bool is_known = std::ranges::any_of(found.channels, [&](ChannelId channel) {
        return suspects_.contains(channel) || report_.speaks_of(channel);
      });
      const bool comes_and_goes =
          static_cast<double>(found.odd.size()) <= kMaxHeldBack * static_cast<double>(found.crossed);
      if (found.of_one_host || is_known || !comes_and_goes) continue;
      add_suspicion(found);
      told.insert(found.odd.begin(), found.odd.end());
    }
    return told;
  }

  Concentration gathered_on(const LoadSuspicion& suspicion) const {
    Concentration gathered{.channels = suspicion.alternatives.front(), .odd = suspicion.flows};
    for (const ChannelId channel : gathered.channels)
      gathered.crossed += static_cast<std::uint32_t>(rounds_.flows_over(channel).size());
    return gathered;
  }

  void add_suspicion(const Concentration& one) {
    double least = 1.0;
    Hypothesis hypothesis{.channels = one.channels, .cause = Cause::rate, .probability = kMaybe};
    for (const std::uint32_t i : one.odd) {
      const LoadFlow& flow = rounds_.flows()[i];
      least = std::min(least, flow.got / flow.offered);
      account_[i] = Part::open;
      hypothesis.again.push_back(flow.path);
    }
    report_.add(std::move(hypothesis));
    Found found{.channels = one.channels, .cause = Cause::rate, .probability = kMaybe};
    found.estimate = Estimate{least, least, 1.0};
    found.evidence.push_back(fmt::format(
        "{} of {} flows over it got less than they offered, down to {:.0f} %, and most others all of "
        "it{}",
        one.odd.size(), one.crossed, 100 * least, kOrOtherTraffic));
    report_.add(std::move(found));
  }

  bool passed_mostly(const LoadFlow& one) const {
    std::size_t whole = 0;
    std::size_t all = 0;
    for (const std::uint32_t i : rounds_.flows_over(one.channels.front())) {
      const LoadFlow& flow = rounds_.flows()[i];
      if (flow.path != one.path || flow.stalled || flow.shared || flow.offered < kDip * one.offered) continue;
      ++all;
      if (!rounds_.held_back(flow)) ++whole;
    }
    return 2 * whole > all;
  }

  void note_untested() {
    std::vector<ChannelId> untested;
    for (const ChannelId channel : elimination_.untested())
      if (losses_[channel.value()].low < 1) untested.push_back(channel);
    for (const ChannelId channel : untested)
      report_.add(Hypothesis{.channels = {channel}, .cause = Cause::rate, .probability = kUntested});
    report_.rate_untested(std::move(untested));
  }

  void fill_account() {
    AccountLine& line = report_.account().slow;
    for (const Part part : account_) {
      if (part != Part::none) ++line.all;
      if (part == Part::found) ++line.found;
      if (part == Part::open) ++line.open;
      if (part == Part::excused) ++line.excused;
      if (part == Part::tolerated) ++line.tolerated;
      if (part == Part::unexplained) ++line.unexplained;
    }
  }

  /// A channel that passed so much shows a fault that leaves less of it, by more than the noise and than a
  /// dip that asks no question.
  void fill_sensitivity() {
    const auto tells = [this](std::uint32_t flow) { return !rounds_.flows()[flow].stalled; };
    double least = 1.0;
    bool any = false;
    for (std::uint32_t c = 0; c < fabric_.channel_count(); ++c) {
      const ChannelId channel(c);
      if (std::ranges::none_of(rounds_.flows_over(channel), tells)) continue;
      any = true;
      if (suspects_.contains(channel)) continue;
      least = std::min(least, std::min(elimination_.passes(channel) / rounds_.capacity(channel), kPlanned));
    }
    if (!any) return;
    const double noise = 1.0 - rounds_.whole_share();
    report_.sensitivity().rate = 1.0 - least * std::min(1.0 - kShows * noise, kDip * (1.0 - noise / 2));
  }

  const Fabric& fabric_;
  std::vector<KnownLoss> losses_;
  LoadRounds rounds_;
  LoadElimination elimination_;
  const DelayShifts& shifts_;
  Waits waits_;
  Report& report_;
  std::set<ChannelId> suspects_;
  std::vector<Part> account_;  // by flow
  mutable std::map<std::pair<ChannelId, ChannelId>, bool> takes_;
};

}  // namespace

void report_loads(const Fabric& fabric, const Observations& observations, const DelayShifts& shifts,
                  Report& report) {
  if (observations.loads.empty()) return;
  LoadFindings(fabric, observations, shifts, report).run();
}

}  // namespace weft::diagnosis
