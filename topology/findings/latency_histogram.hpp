// LatencyHistogram: how often each latency was seen, in buckets that grow with the latency: sixteen to a
// doubling, so that a quantile is at most 1/16 above the truth, whatever its size. Histograms of several
// queue pairs, rounds or hosts merge without loss. Values.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "topology/base/result.hpp"
#include "topology/base/units.hpp"

namespace weft {

class LatencyHistogram {
 public:
  struct Bucket {
    std::uint32_t index = 0;
    std::uint64_t count = 0;
    friend bool operator==(const Bucket&, const Bucket&) = default;
  };
  static constexpr std::uint32_t kBuckets = 960;  // up to 2^63 ns
  /// The shortest and the longest latency that a bucket counts.
  static Nanoseconds shortest_of(std::uint32_t bucket);
  static Nanoseconds longest_of(std::uint32_t bucket);

  LatencyHistogram() = default;
  /// Of what buckets() gave. Error: invalid_input (a bucket that does not exist or comes twice, more counts
  /// than there are numbers).
  static Result<LatencyHistogram> from(std::span<const Bucket> buckets);

  /// Negative counts as zero.
  void add(Nanoseconds latency);
  void merge(const LatencyHistogram& other);
  void clear() { counts_.clear(), total_ = 0; }

  std::uint64_t count() const { return total_; }
  /// The longest latency of the bucket in which this share (0..1) of all is reached; absent: nothing counted.
  std::optional<Nanoseconds> quantile(double share) const;
  /// Those that counted something, shortest first.
  std::vector<Bucket> buckets() const;

  friend bool operator==(const LatencyHistogram& a, const LatencyHistogram& b) {
    return a.buckets() == b.buckets();
  }

 private:
  std::vector<std::uint64_t> counts_;  // up to the longest seen
  std::uint64_t total_ = 0;
};

}  // namespace weft
