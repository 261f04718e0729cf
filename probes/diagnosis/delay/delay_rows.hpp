// The round trips of a run as rows of an additive model: each takes its kind's base (channels crossed, packet
// size) and what the channels on its way add. A base is taken from the fastest round trips of its kind, never
// from the middle one: half of all paths and more may cross a fault. Where all do, it is fitted
// (joint_bases). What round trips scatter by is taken from within the fast rows and capped by their own
// tails, so that faults cannot widen it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "topology/base/ids.hpp"
#include "topology/findings/observation.hpp"

namespace weft::diagnosis {

/// Rows of the same number of channels there and back, and the same size of packets.
struct DelayKind {
  std::size_t hops = 0;
  std::int64_t size = 0;
  double fastest = 0;  // microseconds, of its rows
  double base = 0;     // microseconds, of a healthy round trip
  double tail = 0;     // microseconds from the median of a fast row to its slowest probes
  double within = 0;   // microseconds: no more than the tail, nor than the fast rows' medians let expect
  double noise = 0;    // microseconds, scale of a healthy row about the base
  double shared = 0;   // microseconds by which its fastest rows are slower than shorter paths let expect
};

struct DelayRow {
  double time = 0;    // microseconds
  double late = 0;    // microseconds above the base of its kind
  double within = 0;  // microseconds from its median to its slowest probes
  std::uint32_t kind = 0;
  std::uint32_t first = 0;  // of its channels
  std::uint32_t count = 0;
  std::uint32_t halves = 0;  // channels after these, each on half of its possible paths
};

class DelayRows {
 public:
  static constexpr double kLate = 5.0;  // scales of noise
  /// Of a row's own tail: its median scatters by less from four packets on.
  static constexpr double kOfTail = 0.25;

  explicit DelayRows(const Observations& observations);

  /// Bases by kind, fitted with the shifts of all channels at once, none above its kind's; for few rows (it
  /// takes a while). Where every round trip of a kind crosses a fault, its fastest one says too much.
  std::vector<double> joint_bases() const;
  /// The same rows with these bases, by kind.
  DelayRows with_bases(const std::vector<double>& bases) const;

  const std::vector<DelayRow>& rows() const { return rows_; }
  const std::vector<DelayKind>& kinds() const { return kinds_; }
  const DelayKind& kind_of(std::size_t row) const { return kinds_[rows_[row].kind]; }
  /// The channels that shift the median of a row: all of a known path, and of a set those of most paths.
  std::span<const ChannelId> channels_of(std::size_t row) const {
    return std::span(channels_).subspan(rows_[row].first, rows_[row].count);
  }
  /// These, and those on half of the paths: the median may hold their shifts or not.
  std::span<const ChannelId> possible_of(std::size_t row) const {
    return std::span(channels_).subspan(rows_[row].first, rows_[row].count + rows_[row].halves);
  }
  /// Above what a healthy row of this kind shows, but for strays.
  bool is_late(const DelayRow& row, double by) const { return by > kLate * kinds_[row.kind].noise; }

 private:
  void add(const Observations& observations, const Observation& probe);
  void learn_bases();
  void set_bases();
  void compare_lengths();

  std::vector<DelayRow> rows_;
  std::vector<DelayKind> kinds_;
  std::vector<ChannelId> channels_;
};

}  // namespace weft::diagnosis
