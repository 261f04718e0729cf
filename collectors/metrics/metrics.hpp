// What a watcher knows, what a run found, and what stands on a blacklist, as Prometheus reads it: the text
// exposition format, for /metrics and for the textfile collector of the node exporter. By tier, rail and
// leaf; a link alone only where it is not healthy; never by pair of NICs. Pure.
#pragma once

#include <optional>
#include <string>

#include "balancer/blacklist/ledger.hpp"
#include "probes/watch/watch_state.hpp"
#include "topology/files/diagnosis_document.hpp"
#include "topology/findings/port_warning.hpp"

namespace weft::metrics {

struct MetricsOptions {
  bool all_channels = false;  // also the healthy ones: 13 MB a metric at 24,576 NICs
};

/// At most so many channels and incidents have lines of their own, the worst first; gauges tell how many are
/// left out.
inline constexpr std::size_t kMaxChannels = 2'000;
inline constexpr std::size_t kMaxIncidents = 500;

std::string metrics_text(const Fabric& fabric, const watch::WatchState& state,
                         const MetricsOptions& options = {});
/// Of one that stands by since its start, or has not begun: its state is told by the active one.
std::string standby_metrics_text(const Fabric& fabric);
std::string metrics_text(const files::DiagnosisDocument& document);

/// What became of the events that were to be posted.
struct WebhookFigures {
  std::uint64_t sent = 0;
  std::uint64_t waiting = 0;
  std::uint64_t dropped = 0;
  std::uint64_t refused = 0;
};
std::string metrics_text(const Fabric& fabric, const WebhookFigures& webhook);

/// What counters of ports say beside.
std::string metrics_text(const Fabric& fabric, const PortWarnings& warnings);

/// What a synchronization of a blacklist with a target came to.
struct TargetFigures {
  std::string target;
  std::size_t pending = 0;     // changes that are still to be made
  std::size_t left_alone = 0;  // wanted, but of others, absent, or stopped by a cap
  std::size_t orphans = 0;     // marks of ours that the ledger does not know
  UtcTime at{};
};
/// Of a ledger, and of a target where one was looked at.
std::string metrics_text(const blacklist::Ledger& ledger, const std::optional<TargetFigures>& target);

}  // namespace weft::metrics
