// What a watcher knows, and what a run found, as Prometheus reads it: the text exposition format, for
// /metrics and for the textfile collector of the node exporter. By tier, rail and leaf; a link alone only
// where it is not healthy; never by pair of NICs. Pure.
#pragma once

#include <string>

#include "probes/watch/watch_state.hpp"
#include "topology/files/diagnosis_document.hpp"

namespace weft::metrics {

struct MetricsOptions {
  bool all_channels = false;  // also the healthy ones: 13 MB a metric at 24,576 NICs
};

/// At most so many channels and incidents have lines of their own, the worst first; gauges tell how many are
/// left out.
inline constexpr std::size_t kMostChannels = 2'000;
inline constexpr std::size_t kMostIncidents = 500;

std::string metrics_text(const Fabric& fabric, const watch::WatchState& state,
                         const MetricsOptions& options = {});
std::string metrics_text(const files::DiagnosisDocument& document);

}  // namespace weft::metrics
