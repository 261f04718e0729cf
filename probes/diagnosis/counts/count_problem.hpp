// CountProblem: losses (or corrupt packets) over paths as a sparse table of observations and suspects. A
// suspect is whatever one cause could sit in: a channel, a switch or host as a whole, or one of these that
// harms only packets of some size and more. Suspects crossed by exactly the same probes are one suspect, a
// class: the data cannot tell its members apart. Only observations that lost something are kept as rows; for
// all others the likelihood is linear in the hazards and the sums `survived` say all there is. What a host
// dropped itself is a known hazard of the rows into it, beside those of their suspects.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "topology/base/ids.hpp"
#include "topology/base/units.hpp"
#include "topology/findings/observation.hpp"

namespace weft {
class Fabric;
}

namespace weft::diagnosis {

struct Suspect {
  std::vector<ChannelId> channels;    // ids ascending
  std::vector<NodeId> nodes;          // with channels: the node cannot be told from them
  std::optional<Bytes> from_size{};   // harms packets of this size and more only
  std::optional<Bytes> least_size{};  // with from_size: none from here up to that crossed it
  std::optional<Bytes> below_size{};  // with from_size: the largest size sent below `least_size`
  std::uint64_t sent = 0;             // packets that crossed it
  std::uint64_t lost = 0;             // of these, lost (on any channel of their path)
  std::uint32_t observations = 0;
  bool is_channel() const { return !channels.empty() && !from_size; }
};

/// What is counted of one observation. Packets that a host itself is known to have dropped are left out: they
/// tell of nothing, though they came all the way, for how many of a row's they are is only known of all rows
/// that were for that host together.
struct Counts {
  std::uint64_t n = 0;
  std::uint64_t k = 0;
};
enum class Counted { loss, corruption };
Counts counts_of(const Observation& observation, Counted counted);
/// Of the lost, what a host dropped itself. Where nothing came and the host dropped a tenth of it, that may
/// be all, for it may have dropped the whole of some rows and nothing of others.
std::uint64_t excused_of(const Observation& observation);

/// Which observations count, and how.
struct Counting {
  Counted what = Counted::loss;
  /// By observation: all its packets were swallowed by what is known to be dead; it tells of nothing else.
  std::vector<bool> swallowed = {};
  /// By observation, absent: none. Its host dropped so few packets that it matters little whose they are: its
  /// share of them is taken off. Else it is an estimate.
  std::vector<bool> takes_off = {};
  /// Of a flow that took one of several paths only whether it lost all is counted. Else that is one packet
  /// for those that lost all or none.
  bool whole_flows = false;
  /// What else explains the same as what is found is asked.
  bool exchanges = true;
  /// By channel, or none: what ports counted adds to the log odds of a loss on it (nats_for_loss).
  std::vector<double> counted_nats = {};
  /// Of all faults: see AssessOptions, as for the next.
  double log_prior = 0;
  std::function<bool()> is_over = {};

  bool estimates_drops(std::size_t observation) const {
    return what == Counted::loss && (takes_off.empty() || !takes_off[observation]);
  }
  bool leaves_out(std::size_t observation) const { return !swallowed.empty() && swallowed[observation]; }
};

struct CountProblem {
  struct Cell {
    std::uint32_t index;  // of the row or of the suspect, as the table goes
    std::uint8_t share;   // index into shares
  };
  std::vector<Suspect> suspects;
  /// Distinct shares of an observation's paths that cross a suspect, in (0, 1]; 1 where the path is known.
  std::vector<double> shares;
  /// suspects x shares: packets not lost, of the observations crossing the suspect with that share.
  std::vector<double> survived;
  std::vector<double> times;  // by suspect: the observations that cross it, each by its share

  // Rows: the observations with k > 0. Where some flow lost all its packets, one over a set of paths with a
  // channel of its took one of them: see Counting::whole_flows.
  std::vector<double> n;
  std::vector<std::uint32_t> k;
  std::vector<double> packets;  // lost, of which k tells; without those excused
  std::vector<double> runs;     // of consecutive lost packets; 0: their order is not known
  double reach = 0;             // packets: where rows tell their order, how long a burst lasts as a rule
  std::vector<double> excused;  // of k, what the host dropped itself: an estimate as good as a drawn sample
  std::vector<std::uint32_t> row_offsets{0};
  std::vector<Cell> row_cells;  // suspects of a row
  std::vector<std::uint32_t> suspect_offsets{0};
  std::vector<Cell> suspect_cells;  // rows of a suspect

  bool has_lossy_sets = false;   // flows that took one of several paths lost some
  std::size_t observations = 0;  // all, rows or not
  std::uint64_t sent = 0;
  std::uint64_t lost = 0;

  std::size_t row_count() const { return n.size(); }
  /// Its losses are the fabric's, and it is known in how many runs they lie.
  bool knows_runs(std::uint32_t row) const {
    return runs[row] > 0 && excused[row] == 0 && packets[row] == k[row];
  }
  double beyond_drops(std::uint32_t row) const { return k[row] - excused[row]; }
  /// Packets at which a burst may begin and harm this row: its own, and those before it that it may last
  /// from.
  double begins_of_bursts(std::uint32_t row) const { return n[row] + reach; }
  /// The same of all observations that cross a suspect, each by its share.
  double begins_of_all_bursts(std::uint32_t suspect) const {
    return exposure(suspect) + reach * times[suspect];
  }
  /// Of being dropped by the host that a row's packets were for, of those that came to it.
  double drop_hazard(std::uint32_t row) const {
    return excused[row] > 0 ? std::log1p(excused[row] / (n[row] - k[row] + 1.0)) : 0.0;
  }
  std::span<const Cell> suspects_of(std::uint32_t row) const {
    return std::span(row_cells).subspan(row_offsets[row], row_offsets[row + 1] - row_offsets[row]);
  }
  std::span<const Cell> rows_of(std::uint32_t suspect) const {
    return std::span(suspect_cells)
        .subspan(suspect_offsets[suspect], suspect_offsets[suspect + 1] - suspect_offsets[suspect]);
  }
  double survivors(std::uint32_t suspect, std::size_t share) const {
    return survived[suspect * shares.size() + share];
  }
  /// Of all shares, each packet by its share.
  double survivors(std::uint32_t suspect) const {
    double sum = 0;
    for (std::size_t share = 0; share < shares.size(); ++share)
      sum += shares[share] * survivors(suspect, share);
    return sum;
  }
  /// Packets that crossed it, lost ones too, each by its share.
  double exposure(std::uint32_t suspect) const {
    double sum = survivors(suspect);
    for (const auto& cell : rows_of(suspect)) sum += shares[cell.share] * k[cell.index];
    return sum;
  }
};

CountProblem count_problem(const Fabric& fabric, const Observations& observations, const Counting& counting);

}  // namespace weft::diagnosis
