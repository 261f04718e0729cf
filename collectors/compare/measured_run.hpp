// A run that weft itself measured (a sweep with a pattern of load): its flows, its round trips, and what its
// diagnosis named. Its cells are what a job would notice; the rest tells why they differ (layers.hpp).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collectors/compare/built_fabric.hpp"
#include "collectors/compare/run.hpp"
#include "topology/base/result.hpp"
#include "topology/findings/verdict.hpp"

namespace weft::compare {

/// Channels are numbers: places in MeasuredRun::channels.
using ChannelPath = std::vector<std::uint32_t>;

struct MeasuredFlow {
  std::uint32_t round = 0;  // flows of one round ran at the same time
  std::string src, dst;     // NICs
  ChannelPath path;         // empty: several are possible
  double wanted = 0;        // bits per second
  double delivered = 0;
  /// What its sender put on the wire; absent: not told.
  std::optional<double> offered = std::nullopt;
  bool sender_stalled = false;  // the sending host held it back
};

/// Round trips of one label of a pair.
struct RoundTrip {
  ChannelPath path;      // there and back
  std::size_t hops = 0;  // one way, there
  Bytes size;            // of one packet
  double p50 = 0;        // seconds
  double p99 = 0;
  std::uint64_t packets = 0;  // sent
};

/// Round trips beside a flow under load.
struct LoadedRoundTrip {
  RoundTrip idle;  // the same ways while nothing was loaded; its packets are not told
  double p50 = 0;  // under load, seconds

  double wait() const { return p50 - idle.p50; }
};

/// Probes of one label of a pair that were counted: one way, or there and back where nobody counts between.
struct ProbedPath {
  ChannelPath path;
  std::size_t hops = 0;  // one way; 0: there and back
  Bytes size;            // of one packet
  std::uint64_t sent = 0;
  std::uint64_t lost = 0;  // both without those that a host itself dropped unread
};

/// Where packets waited in queues under load.
struct QueuedPlace {
  std::string place;                       // leaf1->spine2, or several that nothing tells apart
  double wait = 0;                         // seconds
  std::vector<std::string> channels = {};  // of several one, and nobody knows which
};

/// For which share of the time in which the run loaded the fabric pause frames stopped a cable of a host, as
/// its device counted it.
struct PausedNic {
  double sending = 0;    // the NIC, stopped by its switch
  double receiving = 0;  // its switch, stopped by the NIC
};

/// What the diagnosis of a run named.
struct Culprit {
  std::string place;  // leaf1--spine2, host3
  Cause cause = Cause::loss;
  bool is_host = false;
  /// As in Estimate: a share of packets (loss), of the rate that is left (rate, congestion), seconds (delay).
  std::optional<double> value = std::nullopt;
  ChannelPath channels;
  bool is_one_of = false;  // one of the channels, and nobody knows which
};

struct MeasuredRun {
  std::string name;
  std::string pattern;                // of its load
  std::string load = {};              // the setting, as light or full; empty: not told
  std::vector<std::string> channels;  // each once
  std::vector<MeasuredFlow> flows;
  std::vector<RoundTrip> trips;
  std::vector<Culprit> culprits;
  double line_rate = 0;  // of the senders' cables, bits per second; 0: not told
  std::uint64_t sent = 0;
  std::uint64_t lost = 0;
  std::map<std::string, double> grew_a_second = {};    // counters of congestion, all NICs together
  std::size_t counted_nics = 0;                        // whose counters were read
  std::size_t timed_nics = 0;                          // whose devices count how long pauses last
  std::map<std::string, PausedNic> paused = {};        // those that stood, by NIC
  bool has_host_delays = false;                        // timestamps told what hosts added to round trips
  std::shared_ptr<const BuiltFabric> built = nullptr;  // what it ran on; none: not known
  std::vector<LoadedRoundTrip> loaded = {};            // none: not told, as over queue pairs
  std::vector<QueuedPlace> queues = {};                // the longest wait first
  ChannelPath thin = {};     // of which it knows little: too few probes, or hidden by what is at fault
  ChannelPath missing = {};  // that its probes did not cover
  /// What arrives is compared, and nothing else: one side carries nothing but probes (probe_cells.hpp).
  bool is_probes_alone = false;
  std::vector<ProbedPath> probed = {};            // of runs of which probes alone are compared; else none
  std::size_t nics_asked = 0, nics_reached = 0;   // of the same
  std::size_t pairs_mapped = 0, ways_mapped = 0;  // pairs of a path map, and the different paths of all
};

/// Whether the run tells how long pauses stopped its cables, of its load.
inline bool has_pause_times(const MeasuredRun& run) { return run.timed_nics > 0; }

/// The payload of a packet of flows; what stands as the size of their cells.
inline constexpr Bytes kFlowPayload{4096};
/// A 99th percentile of fewer packets is the largest of them.
inline constexpr std::uint64_t kMinForP99 = 100;

/// Of flows at these rates (one a flow): by distance the mean, and over the rounds the mean of the slowest of
/// each, for the slowest ends a step of a collective. What is zero is left out.
std::map<Cell, double> flow_cells(const MeasuredRun& run, std::span<const double> rates);

/// Of round trips with these medians (one a trip, seconds): the median over paths, by distance and size.
std::map<Cell, double> trip_cells(const MeasuredRun& run, std::span<const double> medians);

/// Of round trips under load with these medians: the mean over flows, by distance and size. A wait on one
/// channel is in it by the share of flows that cross it, as in the mean of the flows' rates.
std::map<Cell, double> loaded_cells(const MeasuredRun& run, std::span<const double> medians);

/// Medians of round trips alone, as they were measured.
std::vector<double> medians_of(const MeasuredRun& run);
std::vector<double> loaded_medians_of(const MeasuredRun& run);
std::vector<double> delivered_of(const MeasuredRun& run);
std::vector<double> wanted_of(const MeasuredRun& run);

/// The run as cells: those above, and 99th percentiles of paths with packets enough. Where probes alone are
/// compared: probe_cells, and no other.
Run run_of(const MeasuredRun& run);

/// Of a sweep's document (weft.diagnosis/1) and its observations (a line each; may be empty). `probes_alone`:
/// see MeasuredRun. Errors: invalid_input, with the place; more than 2,000,000 flows and round trips
/// together.
Result<MeasuredRun> read_measured_run(std::string name, std::string_view document,
                                      std::string_view observations, bool probes_alone = false);

/// Of a sweep's path map (weft.pathmap/1): how many pairs, and how many different paths. Errors:
/// invalid_input, with the place.
Result<void> read_ways(std::string_view path_map, MeasuredRun& run);

}  // namespace weft::compare
