#include "probes/plan/predicted_labels.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <ranges>
#include <vector>

#include "probes/plan/hash_learner.hpp"

namespace weft::plan {
namespace {

// One pair of a million may be wrong: a map has as many pairs.
const Fraction kProof(1 - std::exp2(-20));

/// What a linear hash makes of the addresses is the same for all labels of a pair.
routing::FlowBits flow_of(PathLabel label) { return routing::FlowBits::of({}, {}, label); }

/// Which path each label takes, of the pair's paths and as many unknown ones as make a power of two. A label
/// listed under several paths is a contradiction, and ends it.
std::optional<HashLearner> learn(const PairPaths& pair) {
  struct Seen {
    PathLabel label;
    std::uint32_t path;
  };
  std::vector<Seen> all;
  for (std::uint32_t p = 0; p < pair.paths.size(); ++p)
    for (const PathLabel label : pair.paths[p].labels) all.push_back({label, p});
  if (pair.paths.size() < 2) return std::nullopt;
  std::ranges::sort(all, {}, &Seen::label);
  HashLearner hash(std::bit_ceil(static_cast<std::uint32_t>(pair.paths.size())), kProof);
  for (const Seen& seen : all) hash.learn(flow_of(seen.label), seen.path);
  return hash.given_up() ? std::nullopt : std::optional(std::move(hash));
}

std::size_t add_predicted(PairPaths& pair, const HashLearner& hash, const LabelRange& range) {
  std::vector<std::vector<PathLabel>> added(pair.paths.size());
  const auto has_room = [&](std::size_t p) {
    return pair.paths[p].labels.size() + added[p].size() < range.most_per_path;
  };
  auto open = static_cast<std::size_t>(
      std::ranges::count_if(std::views::iota(std::size_t{0}, added.size()), has_room));
  for (std::uint64_t value = range.first.value(); value <= range.last.value() && open > 0; ++value) {
    const PathLabel label(static_cast<std::uint32_t>(value));
    const auto path = hash.predict(flow_of(label));
    if (!path || *path >= added.size() || !has_room(*path)) continue;
    if (std::ranges::binary_search(pair.paths[*path].labels, label)) continue;
    added[*path].push_back(label);
    if (!has_room(*path)) --open;
  }
  std::size_t count = 0;
  for (std::size_t p = 0; p < added.size(); ++p) {
    auto& labels = pair.paths[p].labels;
    const auto before = static_cast<std::ptrdiff_t>(labels.size());
    labels.insert(labels.end(), added[p].begin(), added[p].end());
    std::inplace_merge(labels.begin(), labels.begin() + before, labels.end());
    count += added[p].size();
  }
  return count;
}

}  // namespace

PredictedLabels predict_labels(const PathMap& known, const LabelRange& range) {
  PredictedLabels predicted{.map = known};
  for (PairPaths& pair : predicted.map.pairs) {
    const auto hash = learn(pair);
    if (!hash || hash->confidence() < kProof.value()) continue;
    ++predicted.pairs_linear;
    predicted.labels_added += add_predicted(pair, *hash, range);
  }
  return predicted;
}

}  // namespace weft::plan
