#include "probes/plan/predicted_labels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "topology/routing/ecmp_routing.hpp"

namespace weft::plan {
namespace {

/// An affine hash of a label's 16 bits to `bits` bits: an XOR of the rows its set bits pick.
std::uint32_t affine(std::uint32_t label, std::uint64_t seed, int bits) {
  std::uint32_t hash = static_cast<std::uint32_t>(mix_bits(seed));
  for (int bit = 0; bit < 16; ++bit)
    if ((label >> bit & 1U) != 0)
      hash ^= static_cast<std::uint32_t>(mix_bits(seed + 100 + static_cast<std::uint64_t>(bit)));
  return hash & ((1U << bits) - 1);
}

/// One pair whose label takes path hash(label) of `paths`, for so many random labels.
template <class Hash>
PathMap probed(std::size_t labels, std::uint32_t paths, Hash hash, std::uint64_t seed) {
  PathMap map;
  PairPaths pair{PortId(0), PortId(1), {}};
  for (std::uint32_t p = 0; p < paths; ++p) pair.paths.push_back({map.table.intern({ChannelId(p)}), {}});
  std::mt19937_64 random(seed);
  for (std::size_t i = 0; i < labels; ++i) {
    const auto label = static_cast<std::uint32_t>(0xC000 + random() % 0x4000);
    pair.paths[hash(label)].labels.push_back(PathLabel(label));
  }
  for (auto& path : pair.paths) {
    std::ranges::sort(path.labels);
    path.labels.erase(std::ranges::unique(path.labels).begin(), path.labels.end());
  }
  map.pairs.push_back(std::move(pair));
  return map;
}

constexpr LabelRange kPorts{PathLabel(0xC000), PathLabel(0xFFFF), 20'000};

TEST(PredictedLabels, AHundredProbesForetellEveryPortOfALinearHash) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const auto hash = [&](std::uint32_t label) { return affine(label, seed, 3); };
    const auto predicted = predict_labels(probed(100, 8, hash, seed), kPorts);
    ASSERT_EQ(predicted.pairs_linear, 1u);
    std::size_t told = 0;
    for (std::uint32_t p = 0; p < 8; ++p)
      for (const PathLabel label : predicted.map.pairs[0].paths[p].labels) {
        ASSERT_EQ(hash(label.value()), p);
        ++told;
      }
    EXPECT_EQ(told, 0x4000u);
  }
}

TEST(PredictedLabels, AKeyedHashIsSeenNotToBeLinearAndNothingIsForetold) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    for (const std::size_t labels : {8u, 20u, 64u, 256u}) {
      const auto hash = [&](std::uint32_t label) { return routing::choose(seed, {1, label}, 8); };
      const auto predicted = predict_labels(probed(labels, 8, hash, seed), kPorts);
      EXPECT_EQ(predicted.pairs_linear, 0u) << seed << " " << labels;
      EXPECT_EQ(predicted.labels_added, 0u);
    }
}

TEST(PredictedLabels, TooFewLabelsProveNothing) {
  const auto hash = [](std::uint32_t label) { return affine(label, 1, 2); };
  EXPECT_EQ(predict_labels(probed(12, 4, hash, 1), kPorts).pairs_linear, 0u);
}

TEST(PredictedLabels, NoPathGetsMoreLabelsThanAskedFor) {
  const auto hash = [](std::uint32_t label) { return affine(label, 5, 2); };
  LabelRange range = kPorts;
  range.most_per_path = 30;
  const auto predicted = predict_labels(probed(60, 4, hash, 5), range);
  ASSERT_EQ(predicted.pairs_linear, 1u);
  for (const auto& path : predicted.map.pairs[0].paths) EXPECT_EQ(path.labels.size(), 30u);
}

TEST(PredictedLabels, PathsOfWhichSomeWereNotSeenAreForetoldAllTheSame) {
  const auto hash = [](std::uint32_t label) { return affine(label, 7, 3); };
  auto map = probed(100, 8, hash, 7);
  constexpr std::ptrdiff_t kUnseen = 5;
  map.pairs[0].paths.erase(map.pairs[0].paths.begin() + kUnseen);
  const auto predicted = predict_labels(map, kPorts);
  ASSERT_EQ(predicted.pairs_linear, 1u);
  for (std::uint32_t p = 0; p < 7; ++p)
    for (const PathLabel label : predicted.map.pairs[0].paths[p].labels)
      ASSERT_EQ(hash(label.value()), p < kUnseen ? p : p + 1);
}

TEST(PredictedLabels, OneLabelThatIsListedTwiceEndsIt) {
  const auto hash = [](std::uint32_t label) { return affine(label, 3, 3); };
  auto map = probed(100, 8, hash, 3);
  map.pairs[0].paths[1].labels.push_back(map.pairs[0].paths[0].labels.back());
  std::ranges::sort(map.pairs[0].paths[1].labels);
  EXPECT_EQ(predict_labels(map, kPorts).pairs_linear, 0u);
}

TEST(PredictedLabels, NothingIsForetoldOfAPairOfOnePathOrNone) {
  const auto hash = [](std::uint32_t) { return 0U; };
  EXPECT_EQ(predict_labels(probed(100, 1, hash, 1), kPorts).labels_added, 0u);
  EXPECT_EQ(predict_labels(probed(0, 0, hash, 1), kPorts).labels_added, 0u);
}

}  // namespace
}  // namespace weft::plan
