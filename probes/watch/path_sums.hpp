// PathSums: the windows of all agents under one plan, as sums over its rows (streams) in time buckets. How
// many probes of a row were sent follows from ranges of schedule numbers; kept beside them is what was
// lost, by way, and what says nothing, for it went to a NIC in a stall. Buckets grow as they age, so that the
// last two seconds and the last day are both sums of a few of them. What an agent says is not trusted:
// windows that cannot be are refused, all that is kept is bounded, its clock only orders its own windows.
// Pure; not thread-safe. Times are of the watcher's steady clock. The plan must outlive it.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "probes/watch/sent_ranges.hpp"
#include "probes/watch/standing_plan.hpp"
#include "probes/watch/window.hpp"
#include "topology/findings/observation.hpp"

namespace weft::watch {

/// Of the probes of a row, by where they were lost.
struct RowLosses {
  std::uint32_t there = 0;
  std::uint32_t back = 0;
  std::uint32_t open = 0;
  Nanoseconds first = Nanoseconds::max();  // the end of the earliest window that lost some
  std::uint32_t all() const { return there + back + open; }
  void add(const RowLosses& other);
  friend bool operator==(const RowLosses&, const RowLosses&) = default;
};

/// What a span of time holds.
struct ScaleSums {
  Nanoseconds from{};
  Nanoseconds to{};
  SentRanges sent;
  std::vector<std::pair<std::uint32_t, RowLosses>> lost;  // by row, ascending; none of them zero
  /// Of the sent, those to NICs in a stall of theirs: none of them is among the lost. By row, ascending.
  std::vector<std::pair<std::uint32_t, std::uint64_t>> stalled = {};

  /// How many probes of stream `stream` of `nic`, number `n` of the plan, say something.
  std::uint64_t telling(std::uint32_t n, const StandingNic& nic, std::uint32_t stream) const;
};

/// Round trips of a row as last told.
struct RowDelays {
  RttQuantiles rtt;
  Nanoseconds at = Nanoseconds::min();  // when; min: never
};

/// Why a window was not summed.
enum class Refusal : std::uint8_t {
  repeat,      // summed before: no offence
  other_plan,  // of another plan than these sums
  impossible,  // offsets beyond the count, NICs or streams that are not, out of order
  went_back,   // numbers of its schedule that another window told already
  too_fast,    // more probes than the plan allows, or more windows than an agent sends
};

/// Probes to NICs in a stall, by row.
using ExcusedRows = std::unordered_map<std::uint32_t, std::uint64_t>;

/// A host did not read this NIC to the end then.
struct NicStall {
  PortId nic;
  Nanoseconds from, until;
};

/// What became of a window.
struct Taken {
  std::optional<Refusal> refused = std::nullopt;
  std::uint32_t rows = 0;    // path-windows summed; none of a NIC in a stall
  Nanoseconds sent_until{};  // the end of its sending
  Nanoseconds lag{};         // since then
  std::int64_t gaps = 0;     // windows of this boot now known to be missing; below zero: one came late
  std::vector<NicStall> stalls = {};
};

class PathSums {
 public:
  /// `since`: when the plan was made: no probe of it was sent before.
  PathSums(const StandingPlan& plan, PlanVersion version, Nanoseconds since);

  Taken take(NodeId host, const Window& window, Nanoseconds arrival);

  /// The sums of what was sent within `span` before `now`, and up to a fifth of it more: whole buckets, none
  /// that begins before `not_before`.
  ScaleSums sum(Nanoseconds now, Nanoseconds span, Nanoseconds not_before = Nanoseconds::min()) const;
  /// Of the buckets that lie in from ... to.
  ScaleSums between(Nanoseconds from, Nanoseconds to) const;
  /// What was taken for neither lost nor passed since this was asked last.
  ExcusedRows take_excused() { return std::exchange(excused_, {}); }
  /// Of what others sent to this NIC then nobody knows whether it was lost.
  void note_stall(const NicStall& stall);
  const RowDelays& delays(std::uint32_t row) const { return delays_[row]; }

  const StandingPlan& plan() const { return *plan_; }
  PlanVersion version() const { return version_; }

 private:
  /// Of one boot of an agent: what it told already.
  struct Boot {
    std::uint64_t boot = 0;
    std::uint64_t next = 0;              // window number
    std::vector<std::uint64_t> missing;  // numbers below it that did not come, ascending; the last ones
    std::vector<std::uint64_t> ends;     // by NIC of the host: numbers below are told, but for holes
    std::vector<std::vector<SentRange>> holes;  // by NIC of the host; the last ones
    std::optional<Nanoseconds> offset;          // least of arrival less its clock
    Nanoseconds last{};                         // arrival
  };
  struct Agent {
    std::vector<Boot> boots;  // latest first, few
    double credit = 0;        // windows that may come at once
    Nanoseconds at{};         // when that was counted
  };
  struct Bucket {
    Nanoseconds from{};
    Nanoseconds length{};
    SentRanges sent;
    std::unordered_map<std::uint32_t, RowLosses> lost;
    std::unordered_map<std::uint32_t, std::uint64_t> stalled;  // as ScaleSums has it
    Nanoseconds end() const { return from + length; }
  };
  Boot& boot_of(NodeId host, std::uint64_t boot);
  bool pays(Agent& agent, Nanoseconds arrival) const;
  std::optional<Refusal> check(NodeId host, const Boot& boot, const Window& window,
                               Nanoseconds arrival) const;
  static bool is_told(const Boot& boot, std::uint64_t number);
  static std::int64_t note_number(Boot& boot, std::uint64_t number);
  static void note_sent(Boot& boot, const NicWindow& told);
  static Nanoseconds lag_of(Boot& boot, const Window& window, Nanoseconds arrival);
  std::vector<NicStall> stalls_of(NodeId host, const Window& window, Nanoseconds until) const;
  void pass_over(std::uint32_t row, Bucket& bucket);
  const std::vector<std::uint32_t>& rows_to(PortId nic);
  std::vector<bool> to_stalled(const StandingNic& nic, Nanoseconds from, Nanoseconds until) const;
  void add(std::uint32_t nic, const NicWindow& told, Bucket& bucket, Nanoseconds from, Nanoseconds until);
  template <class Wanted>
  ScaleSums gather(Nanoseconds to, Wanted wanted) const;
  void settle(std::uint32_t row, LostWay way);
  void settle_all(NodeId host, const Window& window);
  Bucket& bucket_at(Nanoseconds at);
  void age();

  const StandingPlan* plan_;
  PlanVersion version_;
  Nanoseconds since_;
  Nanoseconds now_{};  // latest arrival
  std::unordered_map<NodeId, Agent> agents_;
  std::deque<Bucket> buckets_;                             // oldest first
  std::unordered_map<std::uint32_t, std::uint32_t> open_;  // by row, in all buckets
  std::vector<RowDelays> delays_;
  std::unordered_map<PortId, std::vector<NicStall>> stalls_;        // the last ones, as their hosts told
  std::unordered_map<PortId, std::vector<std::uint32_t>> rows_to_;  // empty until there was a stall
  ExcusedRows excused_;
};

}  // namespace weft::watch
