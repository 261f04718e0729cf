#include "probes/diagnosis/diagnose.hpp"

#include <algorithm>
#include <functional>
#include <map>

#include "probes/diagnosis/counts/counts.hpp"
#include "probes/diagnosis/coverage.hpp"
#include "probes/diagnosis/delay/delay.hpp"
#include "probes/diagnosis/load/load.hpp"
#include "probes/diagnosis/report.hpp"
#include "probes/diagnosis/sign_findings.hpp"

namespace weft {
namespace {

constexpr std::size_t kLabelsTold = 8;  // of a finding: enough to see them again, few enough to read

bool tells_of_losses(Cause cause) {
  return cause == Cause::loss || cause == Cause::down || cause == Cause::mtu || cause == Cause::corruption;
}

/// Which labels suffer by the named links: a job's queue pairs of the same pairs and labels do too. Only
/// packets whose path is known count.
void note_labels(const Observations& observations, std::vector<LinkFinding>& links) {
  using Losses = std::map<LabelledPair, LabelledLoss>;
  std::map<ChannelId, std::vector<std::size_t>> findings_at;
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (!tells_of_losses(links[i].cause)) continue;
    for (const ChannelId channel : {Fabric::a_to_b(links[i].link), Fabric::b_to_a(links[i].link)})
      if (links[i].channel.value_or(channel) == channel) findings_at[channel].push_back(i);
  }
  if (findings_at.empty()) return;
  std::vector<Losses> losses(links.size());
  for (const Observation& probe : observations.probes) {
    const auto harmed = probe.lost + probe.corrupt;
    const auto paths = observations.paths.paths(probe.path);
    if (!probe.pair || harmed == 0 || probe.back || paths.size() != 1) continue;
    for (const ChannelId channel : observations.paths.channels(paths.front()))
      if (const auto at = findings_at.find(channel); at != findings_at.end())
        for (const std::size_t i : at->second) {
          LabelledLoss& loss = losses[i].try_emplace(*probe.pair, LabelledLoss{*probe.pair}).first->second;
          loss.sent += probe.sent;
          loss.lost += harmed;
        }
  }
  for (std::size_t i = 0; i < links.size(); ++i) {
    auto& labels = links[i].labels;
    for (const auto& [pair, loss] : losses[i]) labels.push_back(loss);
    std::ranges::stable_sort(labels, std::greater(), &LabelledLoss::lost);
    if (labels.size() > kLabelsTold) labels.resize(kLabelsTold);
  }
}

}  // namespace

Assessment assess(const Fabric& fabric, const Observations& observations, const Tolerance& tolerance) {
  Report report(fabric);
  for (const HostEvidence& evidence : observations.hosts) report.add(evidence);
  report_counts(fabric, observations, Counted::loss, tolerance, report);
  const auto is_corrupt = [](const Observation& probe) { return probe.corrupt > 0; };
  if (std::ranges::any_of(observations.probes, is_corrupt))
    report_counts(fabric, observations, Counted::corruption, tolerance, report);
  const DelayShifts shifts = report_delays(fabric, observations, tolerance, report);
  report_loads(fabric, observations, shifts, report);
  report.explain_by_congestion();
  report_signs(fabric, observations, report);
  for (const Observation& probe : observations.probes)
    if (probe.sent > 0)
      report.sensitivity().size = std::max(report.sensitivity().size.value_or(Bytes(0)), probe.size);
  report.sensitivity().loss = least_loss_shown(packets_over(fabric, observations));
  auto assessment = std::move(report).finish(coverage_of(fabric, observations));
  note_labels(observations, assessment.diagnosis.links);
  return assessment;
}

Diagnosis diagnose(const Fabric& fabric, const Observations& observations, const Tolerance& tolerance) {
  return assess(fabric, observations, tolerance).diagnosis;
}

}  // namespace weft
