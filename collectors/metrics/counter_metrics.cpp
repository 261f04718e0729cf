#include "collectors/metrics/families.hpp"
#include "collectors/metrics/metrics.hpp"
#include "topology/model/fabric.hpp"

namespace weft::metrics {

std::string metrics_text(const Fabric& fabric, const PortWarnings& warnings) {
  Families all(fabric.name());
  all.gauge("weft_counters_read_timestamp_seconds", "When counters of ports were read last; 0: never.")
      .add(std::chrono::duration<double>(warnings.at).count());
  all.gauge("weft_counters_failing", "1: counters of ports could not be read since.")
      .add(warnings.trouble.empty() ? 0 : 1);
  all.gauge("weft_counters_ports", "Ports that tell of corrected errors for a day.")
      .add(static_cast<double>(warnings.told));
  auto degrading =
      all.gauge("weft_port_degrading", "1: corrected errors of the port rise towards the loss of frames.");
  auto days = all.gauge("weft_port_days_to_loss",
                        "Of a degrading port: days until frames are lost, if its errors rise on.");
  auto errors =
      all.gauge("weft_port_counted_errors", "Errors of a port in the last day of a source's readings.");
  std::size_t shown = 0;
  for (const PortWarning& one : warnings.ports) {
    if (++shown > kMaxChannels) break;
    const Labels labels{{"port", fabric.name_of(one.port)}, {"source", one.source}};
    if (!one.degrading) errors.add(one.errors, labels);
    if (one.degrading) degrading.add(1, labels);
    if (one.degrading && one.loss) days.add(one.loss->days, labels);
  }
  return std::move(all).text();
}

}  // namespace weft::metrics
