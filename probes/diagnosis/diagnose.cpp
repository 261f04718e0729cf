#include "probes/diagnosis/diagnose.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "probes/diagnosis/counters/port_counts.hpp"
#include "probes/diagnosis/counts/count_problem.hpp"
#include "probes/diagnosis/counts/counts.hpp"
#include "probes/diagnosis/coverage.hpp"
#include "probes/diagnosis/delay/delay.hpp"
#include "probes/diagnosis/load/load.hpp"
#include "probes/diagnosis/report.hpp"
#include "topology/findings/link_signs.hpp"
#include "topology/findings/observation.hpp"
#include "topology/model/fabric.hpp"

namespace weft::diagnosis {
namespace {

constexpr std::size_t kLabelsTold = 8;    // of a finding: enough to see them again, few enough to read
constexpr double kFaultyChannels = 4.0;   // of a fabric, before any sign is seen
constexpr double kMaxOfChannels = 0.005;  // and at most this share
constexpr std::uint64_t kMinHeavy = 5;    // lost packets of a channel, to speak of their share

bool is_cause_of_losses(Cause cause) {
  return cause == Cause::loss || cause == Cause::down || cause == Cause::mtu || cause == Cause::corruption;
}

/// Which labels suffer by the named links: a job's queue pairs of the same pairs and labels do too. Only
/// packets whose path is known count, and none that cross two of the links: which of these harmed them is not
/// known.
void note_labels(const Observations& observations, std::vector<LinkFinding>& links) {
  std::map<ChannelId, std::vector<std::size_t>> findings_at;
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (!is_cause_of_losses(links[i].cause)) continue;
    for (const ChannelId channel : {Fabric::a_to_b(links[i].link), Fabric::b_to_a(links[i].link)})
      if (links[i].channel.value_or(channel) == channel) findings_at[channel].push_back(i);
  }
  if (findings_at.empty()) return;
  std::vector<std::map<LabelledPair, LabelledLoss>> losses(links.size());
  for (const Observation& probe : observations.probes) {
    const auto paths = observations.paths.paths(probe.path);
    if (!probe.pair || probe.lost + probe.corrupt == 0 || probe.back || paths.size() != 1) continue;
    std::set<std::size_t> crossed;
    for (const ChannelId channel : observations.paths.channels(paths.front()))
      if (const auto at = findings_at.find(channel); at != findings_at.end())
        crossed.insert(at->second.begin(), at->second.end());
    const auto harmed_by = [&](std::size_t i) {
      return links[i].cause == Cause::corruption ? probe.corrupt : probe.lost;
    };
    std::erase_if(crossed, [&](std::size_t i) { return harmed_by(i) == 0; });
    if (crossed.size() != 1) continue;
    const std::size_t i = *crossed.begin();
    LabelledLoss& loss = losses[i].try_emplace(*probe.pair, LabelledLoss{*probe.pair}).first->second;
    loss.sent += probe.sent;
    loss.lost += harmed_by(i);
  }
  for (std::size_t i = 0; i < links.size(); ++i) {
    auto& labels = links[i].labels;
    for (const auto& [pair, loss] : losses[i]) labels.push_back(loss);
    std::ranges::stable_sort(labels, std::greater(), &LabelledLoss::lost);
    if (labels.size() > kLabelsTold) labels.resize(kLabelsTold);
  }
}

/// Of one cause at one channel.
struct Signs {
  double log_ratio = 0;
  std::vector<std::string> texts;
};

/// Signs: what is known of a channel besides probes and counts (link state, flaps), where the probes found
/// nothing. Adds a finding for every channel whose signs alone make a cause more likely than not, unless the
/// report already explains that channel: called when the findings from probes are in.
void report_signs(const Fabric& fabric, const Observations& observations, Report& report) {
  std::map<std::pair<ChannelId, Cause>, Signs> by_channel;
  for (const ChannelEvidence& sign : observations.channels) {
    Signs& signs = by_channel[{sign.channel, sign.cause}];
    signs.log_ratio += sign.log_ratio;
    if (sign.log_ratio > 0) signs.texts.push_back(sign.text);  // what speaks against it is no evidence of it
  }
  const double channels = std::max<double>(static_cast<double>(fabric.channel_count()), 1.0);
  const double prior = std::log(std::min(kFaultyChannels / channels, kMaxOfChannels));
  for (auto& [key, signs] : by_channel) {
    const auto& [channel, cause] = key;
    if (cause == Cause::counter) signs.log_ratio = std::min(signs.log_ratio, kMaxEventNats);
    const double probability = 1.0 / (1.0 + std::exp(-prior - signs.log_ratio));
    if (probability < kSuspected || report.explains(channel)) continue;
    report.add(Found{.channels = {channel},
                     .cause = cause,
                     .probability = probability,
                     .evidence = std::move(signs.texts)});
  }
}

/// What was lost of all packets whose path surely crossed a channel, wherever on it they were lost.
struct ChannelLoss {
  ChannelId channel;
  Counts counts;
  double share() const { return static_cast<double>(counts.k) / static_cast<double>(counts.n); }
};

/// The channel over which the largest share was lost.
std::optional<ChannelLoss> heaviest_loss(const Fabric& fabric, const Observations& observations) {
  std::vector<Counts> over(fabric.channel_count());
  for (const Observation& probe : observations.probes) {
    const Counts counts = counts_of(probe, Counted::loss);
    for (const std::optional<PathSetId>& set : {std::optional(probe.path), probe.back}) {
      if (!set || observations.paths.paths(*set).size() != 1) continue;
      for (const ChannelId channel : observations.paths.channels(observations.paths.paths(*set).front())) {
        over[channel.value()].n += counts.n;
        over[channel.value()].k += counts.k;
      }
    }
  }
  std::optional<ChannelLoss> heaviest;
  for (std::uint32_t c = 0; c < over.size(); ++c) {
    const ChannelLoss loss{ChannelId(c), over[c]};
    if (over[c].k >= kMinHeavy && (!heaviest || loss.share() > heaviest->share())) heaviest = loss;
  }
  return heaviest;
}

/// The heaviest loss where the findings are degraded and it is that of a channel that failed. Which channels
/// lose packets, and how much each does, is read from how the losses lie in time too: heaped ones look like
/// bursts of others. Whether the run failed must not hang on that; which of them failed is not known then.
std::optional<ChannelLoss> failing_loss(const Fabric& fabric, const Observations& observations,
                                        const Diagnosis& diagnosis) {
  if (run_verdict(diagnosis) != Verdict::degraded) return std::nullopt;
  const auto heaviest = heaviest_loss(fabric, observations);
  return heaviest && heaviest->share() >= kFailedLoss ? heaviest : std::nullopt;
}

/// Says so in the evidence of the finding at that channel, or else of the first that has any (a set has
/// none); none of them becomes worse.
void note_failing_loss(const Fabric& fabric, const ChannelLoss& loss, Diagnosis& diagnosis) {
  const auto text = fmt::format("the run failed: of all packets over {} {:.3g} % were lost",
                                fabric.name_of(loss.channel), 100 * loss.share());
  const auto note = [&](auto& findings, auto is_meant) {
    const auto found = std::ranges::find_if(findings, is_meant);
    if (found == findings.end()) return false;
    found->evidence.push_back(text);
    return true;
  };
  const auto at_link = [&](const LinkFinding& it) { return it.link == Fabric::link_of(loss.channel); };
  const auto at_host = [&](const HostFinding& it) {
    return it.host == fabric.source_node(loss.channel) || it.host == fabric.target_node(loss.channel);
  };
  const auto at_group = [&](const GroupFinding& it) {
    return std::ranges::find(it.channels, loss.channel) != it.channels.end();
  };
  const auto any = [](const auto&) { return true; };
  note(diagnosis.links, at_link) || note(diagnosis.hosts, at_host) || note(diagnosis.groups, at_group) ||
      note(diagnosis.links, any) || note(diagnosis.hosts, any) || note(diagnosis.groups, any) ||
      note(diagnosis.fabric, any);
}

/// Coverage; and notes the smallest loss that would have shown.
Coverage reach_of(const Fabric& fabric, const Observations& observations, const Tolerance& tolerance,
                  Report& report) {
  std::size_t longest = 0;  // path, in channels
  for (const Observation& probe : observations.probes) {
    if (probe.sent == 0) continue;
    report.sensitivity().size = std::max(report.sensitivity().size.value_or(Bytes(0)), probe.size);
    longest =
        std::max(longest, observations.paths.channels(observations.paths.paths(probe.path).front()).size());
  }
  // However many packets: what the channels of a path may lose together hides that one of them loses it
  // alone.
  const double background = background_of(observations, report.account().lost);
  if (const auto shown = least_loss_shown(packets_over(fabric, observations), background))
    report.sensitivity().loss = std::max(*shown, tolerance.loss.value() * static_cast<double>(longest));
  return coverage_of(fabric, observations, background);
}

}  // namespace

Assessment assess(const Fabric& fabric, const Observations& observations, const Tolerance& tolerance,
                  const AssessOptions& options) {
  Counting counting{.exchanges = options.purpose == Purpose::verdict,
                    .counted_nats = counted_nats(fabric, observations),
                    .log_prior = options.log_prior,
                    .is_over = options.is_over};
  Report report(fabric);
  for (const HostEvidence& evidence : observations.hosts) report.add(evidence);
  for (const ChannelEvidence& sign : observations.channels)
    if (sign.cause == Cause::congestion && sign.log_ratio == 0) report.note_stopped(sign.channel, sign.text);
  report_counts(fabric, observations, counting, tolerance, report);
  const auto is_corrupt = [](const Observation& probe) { return probe.corrupt > 0; };
  counting.what = Counted::corruption;
  if (std::ranges::any_of(observations.probes, is_corrupt))
    report_counts(fabric, observations, counting, tolerance, report);
  const DelayShifts shifts = report_delays(fabric, observations, tolerance, report);
  report_loads(fabric, observations, shifts, report);
  report.explain_by_congestion();
  const auto judged = report_port_counts(fabric, observations, report);
  report_signs(fabric, observations, report);
  auto assessment = std::move(report).finish(options.reach ? reach_of(fabric, observations, tolerance, report)
                                                           : Coverage{});
  note_labels(observations, assessment.diagnosis.links);
  note_port_counts(judged, assessment.diagnosis);
  return assessment;
}

Diagnosis diagnose(const Fabric& fabric, const Observations& observations, const Tolerance& tolerance,
                   const std::function<bool()>& is_over) {
  auto diagnosis = assess(fabric, observations, tolerance, {.is_over = is_over}).diagnosis;
  note_masked(fabric, observations, diagnosis);
  diagnosis.verdict = run_verdict(diagnosis);
  if (const auto loss = failing_loss(fabric, observations, diagnosis)) {
    note_failing_loss(fabric, *loss, diagnosis);
    diagnosis.verdict = Verdict::failed;
  }
  return diagnosis;
}

Verdict verdict_of_run(const Fabric& fabric, const Observations& observations, const Diagnosis& diagnosis) {
  return failing_loss(fabric, observations, diagnosis) ? Verdict::failed : run_verdict(diagnosis);
}

}  // namespace weft::diagnosis
