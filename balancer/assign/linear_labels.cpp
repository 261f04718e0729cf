#include "balancer/assign/linear_labels.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

namespace weft::assign {
namespace {

constexpr double kBitsOfProof = 20;

/// Differences of labels that leave the path as it is: a linear space over GF(2), as a reduced basis.
class Differences {
 public:
  /// What is left of `bits` once the basis is taken out; 0: it lies in the space.
  std::uint32_t reduce(std::uint32_t bits) const {
    for (int bit = 31; bit >= 0; --bit)
      if ((bits >> bit & 1U) != 0 && basis_[static_cast<std::size_t>(bit)] != 0)
        bits ^= basis_[static_cast<std::size_t>(bit)];
    return bits;
  }
  void add(std::uint32_t bits) {
    bits = reduce(bits);
    if (bits == 0) return;
    const auto top = static_cast<std::size_t>(31 - __builtin_clz(bits));
    basis_[top] = bits;
  }

 private:
  std::array<std::uint32_t, 32> basis_{};  // by highest bit; 0: none
};

/// What is known of one pair's hashes.
class PairHash {
 public:
  explicit PairHash(std::size_t paths) : first_(paths) {}

  /// The path of `label`, where the labels seen so far tell.
  std::optional<std::size_t> foretell(std::uint32_t label) const {
    for (std::size_t p = 0; p < first_.size(); ++p)
      if (first_[p] && differences_.reduce(label ^ *first_[p]) == 0) return p;
    return std::nullopt;
  }
  void see(std::uint32_t label, std::size_t path) {
    if (first_[path])
      differences_.add(label ^ *first_[path]);
    else
      first_[path] = label;
  }

 private:
  std::vector<std::optional<std::uint32_t>> first_;  // a label of each path
  Differences differences_;
};

struct SeenLabel {
  std::uint32_t label;
  std::size_t path;
};

std::vector<SeenLabel> labels_of(const PairPaths& pair) {
  std::vector<SeenLabel> seen;
  for (std::size_t p = 0; p < pair.paths.size(); ++p)
    for (const PathLabel label : pair.paths[p].labels) seen.push_back({label.value(), p});
  std::ranges::sort(seen, {}, &SeenLabel::label);
  return seen;
}

/// The hash learned from the probed labels; absent: not linear, or not proven.
std::optional<PairHash> learn(const PairPaths& pair) {
  PairHash hash(pair.paths.size());
  double bits_of_proof = 0;
  for (const SeenLabel& seen : labels_of(pair)) {
    if (const auto foretold = hash.foretell(seen.label)) {
      if (*foretold != seen.path) return std::nullopt;
      bits_of_proof += std::log2(static_cast<double>(pair.paths.size()));
    }
    hash.see(seen.label, seen.path);
  }
  return bits_of_proof >= kBitsOfProof ? std::optional(hash) : std::nullopt;
}

std::size_t add_predicted(PairPaths& pair, const PairHash& hash, const LabelRange& range) {
  std::size_t added = 0;
  for (std::uint64_t label = range.first.value(); label <= range.last.value(); ++label) {
    const auto path = hash.foretell(static_cast<std::uint32_t>(label));
    if (!path) continue;
    auto& labels = pair.paths[*path].labels;
    const PathLabel predicted(static_cast<std::uint32_t>(label));
    const auto at = std::ranges::lower_bound(labels, predicted);
    if (labels.size() >= range.most_per_path || (at != labels.end() && *at == predicted)) continue;
    labels.insert(at, predicted);
    ++added;
  }
  return added;
}

}  // namespace

Predicted predict_labels(const PathMap& known, const LabelRange& range) {
  Predicted predicted{.map = known};
  for (PairPaths& pair : predicted.map.pairs) {
    const auto hash = learn(pair);
    if (!hash) continue;
    ++predicted.pairs_linear;
    predicted.labels_added += add_predicted(pair, *hash, range);
  }
  return predicted;
}

}  // namespace weft::assign
