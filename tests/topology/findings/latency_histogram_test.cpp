#include "topology/findings/latency_histogram.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace weft {
namespace {

LatencyHistogram of(const std::vector<std::int64_t>& latencies) {
  LatencyHistogram histogram;
  for (const auto ns : latencies) histogram.add(Nanoseconds(ns));
  return histogram;
}

std::vector<std::int64_t> drawn(std::uint64_t seed, std::size_t count) {
  std::mt19937_64 random(seed);
  std::lognormal_distribution<double> latency(9, 3);
  std::vector<std::int64_t> all(count);
  for (auto& ns : all) ns = static_cast<std::int64_t>(latency(random));
  return all;
}

TEST(LatencyHistogram, BucketsFollowEachOtherWithoutGapsAndGrowWithTheLatency) {
  for (std::uint32_t i = 0; i + 1 < LatencyHistogram::kBuckets; ++i) {
    const auto first = LatencyHistogram::shortest_of(i).count();
    const auto last = LatencyHistogram::longest_of(i).count();
    EXPECT_EQ(LatencyHistogram::shortest_of(i + 1).count(), last + 1);
    EXPECT_LE(static_cast<double>(last - first), static_cast<double>(first) / 16);
    EXPECT_EQ(of({first}), of({last}));
  }
  EXPECT_EQ(LatencyHistogram::longest_of(LatencyHistogram::kBuckets - 1).count(),
            std::numeric_limits<std::int64_t>::max());
}

TEST(LatencyHistogram, AQuantileIsTheTruthOrAtMostASixteenthAbove) {
  auto all = drawn(7, 10'000);
  const auto histogram = of(all);
  std::ranges::sort(all);
  for (const double share : {0.0, 0.5, 0.99, 0.999, 1.0}) {
    const auto rank = std::max<std::size_t>(static_cast<std::size_t>(std::ceil(share * 10'000)), 1);
    const auto truth = static_cast<double>(all[rank - 1]);
    const auto said = static_cast<double>(histogram.quantile(share)->count());
    EXPECT_GE(said, truth);
    EXPECT_LE(said, truth * 17 / 16);
  }
}

TEST(LatencyHistogram, MergedIsAsIfAllWereCountedInOne) {
  const auto a = drawn(1, 500);
  const auto b = drawn(2, 700);
  auto both = a;
  both.insert(both.end(), b.begin(), b.end());
  auto merged = of(a);
  merged.merge(of(b));
  EXPECT_EQ(merged, of(both));
  EXPECT_EQ(merged.count(), 1200u);
  auto other_way = of(b);
  other_way.merge(of(a));
  EXPECT_EQ(merged, other_way);
}

TEST(LatencyHistogram, IsReadBackFromItsBuckets) {
  const auto histogram = of(drawn(3, 100));
  EXPECT_EQ(LatencyHistogram::from(histogram.buckets()).value(), histogram);
}

TEST(LatencyHistogram, BucketsThatCannotBeAreRefused) {
  using Bucket = LatencyHistogram::Bucket;
  const auto huge = std::numeric_limits<std::uint64_t>::max();
  for (const auto& buckets : std::vector<std::vector<Bucket>>{
           {{LatencyHistogram::kBuckets, 1}}, {{3, 1}, {3, 1}}, {{3, huge}, {4, 1}}})
    EXPECT_FALSE(LatencyHistogram::from(buckets));
}

TEST(LatencyHistogram, OfNothingHasNoQuantile) {
  EXPECT_FALSE(LatencyHistogram().quantile(0.5));
  EXPECT_EQ(of({-5}), of({0})) << "a clock that stepped back is no crash";
}

}  // namespace
}  // namespace weft
