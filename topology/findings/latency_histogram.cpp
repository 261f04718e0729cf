#include "topology/findings/latency_histogram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace weft {
namespace {

constexpr unsigned kBits = 4;  // of a value behind its highest one that tell buckets apart
constexpr std::uint64_t kPerDoubling = 1U << kBits;

std::uint32_t bucket_of(std::uint64_t value) {
  if (value < kPerDoubling) return static_cast<std::uint32_t>(value);
  const auto doubling = static_cast<unsigned>(std::bit_width(value)) - 1 - kBits;
  return static_cast<std::uint32_t>(doubling * kPerDoubling + (value >> doubling));
}

std::uint64_t first_value(std::uint64_t bucket) {
  if (bucket < 2 * kPerDoubling) return bucket;
  const std::uint64_t doubling = bucket / kPerDoubling - 1;
  return (bucket % kPerDoubling + kPerDoubling) << doubling;
}

}  // namespace

Nanoseconds LatencyHistogram::shortest_of(std::uint32_t bucket) {
  return Nanoseconds(static_cast<std::int64_t>(first_value(bucket)));
}

Nanoseconds LatencyHistogram::longest_of(std::uint32_t bucket) {
  return Nanoseconds(static_cast<std::int64_t>(first_value(std::uint64_t{bucket} + 1) - 1));
}

Result<LatencyHistogram> LatencyHistogram::from(std::span<const Bucket> buckets) {
  LatencyHistogram made;
  for (const Bucket& bucket : buckets) {
    if (bucket.index >= kBuckets || bucket.count > std::numeric_limits<std::uint64_t>::max() - made.total_)
      return fail(ErrorKind::invalid_input, "no latency histogram has a bucket {} of {}", bucket.index,
                  bucket.count);
    if (bucket.index >= made.counts_.size()) made.counts_.resize(bucket.index + 1);
    if (made.counts_[bucket.index] != 0)
      return fail(ErrorKind::invalid_input, "bucket {} of a latency histogram comes twice", bucket.index);
    made.counts_[bucket.index] = bucket.count;
    made.total_ += bucket.count;
  }
  return made;
}

void LatencyHistogram::add(Nanoseconds latency) {
  const auto bucket = bucket_of(static_cast<std::uint64_t>(std::max<std::int64_t>(latency.count(), 0)));
  if (bucket >= counts_.size()) counts_.resize(bucket + 1);
  ++counts_[bucket];
  ++total_;
}

void LatencyHistogram::merge(const LatencyHistogram& other) {
  if (counts_.size() < other.counts_.size()) counts_.resize(other.counts_.size());
  for (std::size_t i = 0; i < other.counts_.size(); ++i) counts_[i] += other.counts_[i];
  total_ += other.total_;
}

std::optional<Nanoseconds> LatencyHistogram::quantile(double share) const {
  if (total_ == 0) return std::nullopt;
  const auto wanted =
      std::clamp<double>(std::ceil(share * static_cast<double>(total_)), 1, static_cast<double>(total_));
  std::uint64_t seen = 0;
  std::uint32_t bucket = 0;
  while (bucket + 1 < counts_.size() && static_cast<double>(seen += counts_[bucket]) < wanted) ++bucket;
  return longest_of(bucket);
}

std::vector<LatencyHistogram::Bucket> LatencyHistogram::buckets() const {
  std::vector<Bucket> all;
  for (std::uint32_t i = 0; i < counts_.size(); ++i)
    if (counts_[i] > 0) all.push_back({i, counts_[i]});
  return all;
}

}  // namespace weft
