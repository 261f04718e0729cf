#include "probes/diagnosis/count_findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "probes/diagnosis/count_search.hpp"
#include "probes/diagnosis/doubts.hpp"
#include "probes/diagnosis/tally.hpp"

namespace weft {
namespace {

/// A set of rivals is named by those that make up this share of its probability.
constexpr double kCredible = 0.95;
constexpr double kWorthAsking = 0.1;  // suspicions this likely are doubts to settle

constexpr double kSureSign = 9.0;  // nats: a prior of one in 200, the most of any, becomes 40 to 1

double loss_of(double hazard) { return -std::expm1(-hazard); }

class CountFindings {
 public:
  CountFindings(const Fabric& fabric, const Observations& observations, Counted counted, Report& report)
      : fabric_(fabric),
        observations_(observations),
        counted_(counted),
        report_(report),
        problem_(count_problem(fabric, observations, counted)) {}

  void run() {
    if (problem_.lost == 0) return;
    CountPriors priors = count_priors(fabric_, problem_);
    for (const ChannelEvidence& evidence : observations_.channels) weigh_in(evidence, priors);
    result_ = search_counts(problem_, priors);
    std::vector<std::uint32_t> listed;
    for (const Suspicion& suspicion : result_.suspicions) listed.push_back(suspicion.suspect);
    tally_ = tally(fabric_, observations_, counted_, problem_, named(listed));
    for (const auto& rivals : result_.rivals) report_rivals(rivals);
  }

 private:
  /// A sign about a channel multiplies the odds of the suspects it belongs to.
  void weigh_in(const ChannelEvidence& evidence, CountPriors& priors) const {
    const bool fits = counted_ == Counted::loss
                          ? evidence.cause == Cause::loss || evidence.cause == Cause::down
                          : evidence.cause == Cause::corruption;
    if (!fits) return;
    for (std::size_t s = 0; s < problem_.suspects.size(); ++s) {
      const Suspect& suspect = problem_.suspects[s];
      if (!suspect.is_channel() || !std::ranges::binary_search(suspect.channels, evidence.channel)) continue;
      const double others = static_cast<double>(suspect.channels.size()) - 1;
      priors.log_odds[s] += std::log((others + std::exp(evidence.log_ratio)) / (others + 1));
    }
  }

  /// The suspects whose traffic is not "the other paths" of any finding.
  std::vector<std::uint32_t> named(const std::vector<std::uint32_t>& listed) {
    std::vector<std::uint32_t> kept;
    place_.assign(listed.size(), listed.size());
    for (std::size_t i = 0; i < listed.size(); ++i)
      if (result_.suspicions[i].probability >= kWorthAsking) {
        place_[i] = kept.size();
        kept.push_back(listed[i]);
      }
    return kept;
  }

  void report_rivals(const std::vector<std::uint32_t>& rivals) {
    double total = 0;
    for (const std::uint32_t i : rivals) total += result_.suspicions[i].probability;
    const std::uint32_t first = *std::ranges::max_element(
        rivals, {}, [this](std::uint32_t i) { return result_.suspicions[i].probability; });
    const Suspicion& likeliest = result_.suspicions[first];
    if (total >= kSuspected) report_.add(worded(rivals, total, first));
    if (total < kWorthAsking || (likeliest.probability >= kSure && is_settled(likeliest))) return;
    report_.add(doubt_of(fabric_, problem_, result_, rivals, counted_));
  }

  /// The likeliest, but where it does not stand out; or where it and its rivals are all one host's: which
  /// part of a host is at fault matters less than that it is this host.
  Found worded(const std::vector<std::uint32_t>& rivals, double total, std::uint32_t first) const {
    const Suspicion& likeliest = result_.suspicions[first];
    if (rivals.size() == 1 || likeliest.probability >= named_from(cause_of(likeliest))) return found(first);
    Found all = found_among(rivals, total);
    return likeliest.probability < kSuspected || report_.host_of(all) ? std::move(all) : found(first);
  }

  bool is_settled(const Suspicion& suspicion) const {
    return problem_.suspects[suspicion.suspect].channels.size() <= 1;
  }

  Cause cause_of(const Suspicion& suspicion) const {
    if (counted_ == Counted::corruption) return Cause::corruption;
    const Suspect& suspect = problem_.suspects[suspicion.suspect];
    const bool nothing_passed = suspect.lost == suspect.sent;
    if (!nothing_passed) return Cause::loss;
    return suspect.from_size ? Cause::mtu : Cause::down;
  }

  Found found(std::uint32_t i) const {
    const Suspicion& suspicion = result_.suspicions[i];
    const Suspect& suspect = problem_.suspects[suspicion.suspect];
    Found found{.channels = suspect.channels, .nodes = suspect.nodes, .cause = cause_of(suspicion)};
    found.probability = std::min(suspicion.probability, 1.0);
    if (found.cause == Cause::mtu) {
      const double passed = static_cast<double>(suspect.below_size->count());
      found.estimate = Estimate{passed, passed, static_cast<double>(suspect.from_size->count() - 1)};
    } else if (found.cause != Cause::down) {
      found.estimate = Estimate{loss_of(suspicion.hazard), loss_of(suspicion.low), loss_of(suspicion.high)};
    }
    found.evidence = evidence_of(i, suspect);
    if (found.cause == Cause::down) prefer_dead_cable(found);
    for (const ChannelEvidence& sign : observations_.channels)
      if (std::ranges::binary_search(found.channels, sign.channel)) found.evidence.push_back(sign.text);
    return found;
  }

  /// Of a class, the channels whose other direction is down by signs of its own: one dead cable explains
  /// both. (A switch that is dead as a whole would too, but then all its neighbours would have stopped
  /// sending to it.)
  void prefer_dead_cable(Found& found) const {
    const auto dead = [this](ChannelId channel) {
      double nats = 0;
      for (const ChannelEvidence& sign : observations_.channels)
        if (sign.channel == Fabric::reverse(channel) && sign.cause == Cause::down) nats += sign.log_ratio;
      return nats > kSureSign;
    };
    if (std::ranges::none_of(found.channels, dead)) return;
    std::erase_if(found.channels, std::not_fn(dead));
    found.nodes.clear();
  }

  std::vector<std::string> evidence_of(std::uint32_t i, const Suspect& suspect) const {
    const Traffic& own = tally_.of[place_[i]];
    const char* what = counted_ == Counted::corruption ? "corrupt" : "lost";
    std::string text = fmt::format("{} {} over {} path{}", share_text(own.lost, own.sent), what,
                                   grouped(own.paths), own.paths == 1 ? "" : "s");
    if (suspect.from_size) text += fmt::format(", of packets of {} and more", to_string(*suspect.from_size));
    if (tally_.rest.sent > 0)
      text += fmt::format("; the other paths {}", share_text(tally_.rest.lost, tally_.rest.sent));
    std::vector<std::string> evidence{std::move(text)};
    if (suspect.from_size && suspect.below_size->count() > 0)
      evidence.push_back(fmt::format("packets of {} and less pass", to_string(*suspect.below_size)));
    return evidence;
  }

  /// None of the rivals stands out: all that matter together, as one class, with what is not known said.
  Found found_among(std::vector<std::uint32_t> rivals, double total) const {
    std::ranges::stable_sort(rivals, std::ranges::greater{},
                             [this](std::uint32_t i) { return result_.suspicions[i].probability; });
    Found all = found(rivals.front());
    all.nodes.clear();
    all.channels.clear();
    double sum = 0;
    for (const std::uint32_t i : rivals) {
      const Suspect& suspect = problem_.suspects[result_.suspicions[i].suspect];
      all.channels.insert(all.channels.end(), suspect.channels.begin(), suspect.channels.end());
      if (suspect.channels.empty())
        all.nodes.insert(all.nodes.end(), suspect.nodes.begin(), suspect.nodes.end());
      sum += result_.suspicions[i].probability;
      if (sum >= kCredible * total) break;
    }
    std::ranges::sort(all.channels);
    all.channels.erase(std::unique(all.channels.begin(), all.channels.end()), all.channels.end());
    all.probability = std::min(total, 1.0);
    all.evidence.push_back("not enough evidence to tell which");
    return all;
  }

  const Fabric& fabric_;
  const Observations& observations_;
  const Counted counted_;
  Report& report_;
  CountProblem problem_;
  CountResult result_;
  Tally tally_;
  std::vector<std::size_t> place_;  // of a suspicion in the tally
};

}  // namespace

void report_counts(const Fabric& fabric, const Observations& observations, Counted counted, Report& report) {
  CountFindings(fabric, observations, counted, report).run();
}

}  // namespace weft
