#include "probes/diagnosis/diagnose.hpp"

#include <algorithm>

#include "probes/diagnosis/counts/counts.hpp"
#include "probes/diagnosis/coverage.hpp"
#include "probes/diagnosis/delay/delay.hpp"
#include "probes/diagnosis/load/load.hpp"
#include "probes/diagnosis/report.hpp"
#include "probes/diagnosis/sign_findings.hpp"

namespace weft {

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
  return std::move(report).finish(coverage_of(fabric, observations));
}

Diagnosis diagnose(const Fabric& fabric, const Observations& observations, const Tolerance& tolerance) {
  return assess(fabric, observations, tolerance).diagnosis;
}

}  // namespace weft
