#include "probes/diagnosis/load/culprits.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "topology/base/disjoint_sets.hpp"

namespace weft::diagnosis {
namespace {

constexpr double kWindow = 8.0;  // nats: an explanation that much worse than the best counts for nothing
constexpr std::size_t kMaxSteps = 50'000;
/// Two channels depend on each other where they are culprits together so much more, or less, often than by
/// chance; the search leaves out what is rarer than e^-8, which moves less than this.
constexpr double kDependent = 0.01;
constexpr double kProduct = 0.02;  // an explanation's probability may be off the product of its parts by this

bool has(const Explanation& one, ChannelId channel) {
  return std::ranges::binary_search(one.culprits, channel);
}

std::vector<ChannelId> within(const Explanation& one, const std::vector<ChannelId>& part) {
  auto culprits = one.culprits;
  std::erase_if(culprits, [&](ChannelId c) { return !std::ranges::binary_search(part, c); });
  return culprits;
}

/// The channels, ascending in each part, that depend on each other.
std::vector<std::vector<ChannelId>> dependent_channels(std::span<const Explanation> all) {
  std::set<ChannelId> seen;
  for (const Explanation& one : all) seen.insert(one.culprits.begin(), one.culprits.end());
  const std::vector<ChannelId> channels(seen.begin(), seen.end());
  const auto probability = [&](auto is_true) {
    double sum = 0;
    for (const Explanation& one : all) sum += is_true(one) ? one.probability : 0.0;
    return sum;
  };
  std::vector<double> alone;
  for (const ChannelId c : channels) alone.push_back(probability([&](const auto& e) { return has(e, c); }));
  DisjointSets joined(channels.size());
  for (std::uint32_t a = 0; a < channels.size(); ++a)
    for (std::uint32_t b = 0; b < a; ++b) {
      const double both =
          probability([&](const auto& e) { return has(e, channels[a]) && has(e, channels[b]); });
      if (std::abs(both - alone[a] * alone[b]) > kDependent) joined.join(a, b);
    }
  std::vector<std::vector<ChannelId>> parts;
  for (const auto& members : joined.sets()) {
    parts.emplace_back();
    for (const std::uint32_t i : members) parts.back().push_back(channels[i]);
  }
  return parts;
}

/// Depth first: the flows with the fewest candidates left are given one of these, or are left disturbed.
class Search {
 public:
  Search(std::span<const HeldBack> held, double fault) : held_(held), fault_(fault) {}

  std::vector<Explanation> run() {
    step(0.0);
    std::vector<Explanation> found;
    double sum = 0;
    for (const auto& [culprits, cost] : costs_) {
      if (cost > best_ + kWindow) continue;
      found.push_back({{culprits.begin(), culprits.end()}, std::exp(best_ - cost)});
      sum += found.back().probability;
    }
    for (Explanation& one : found) one.probability /= sum;
    std::ranges::stable_sort(found, std::ranges::greater{}, &Explanation::probability);
    return found;
  }

 private:
  bool is_explained(const HeldBack& held) const {
    return std::ranges::any_of(held.candidates, [&](ChannelId c) { return chosen_.contains(c); });
  }
  std::vector<ChannelId> open_candidates(const HeldBack& held) const {
    auto open = held.candidates;
    std::erase_if(open, [&](ChannelId c) { return ruled_out_.contains(c); });
    return open;
  }

  /// What the open flows cost at least: those that share no candidate cost apart.
  double least_more() const {
    std::set<ChannelId> used;
    double sum = 0;
    for (std::size_t i = 0; i < held_.size(); ++i) {
      if (is_left_[i] || is_explained(held_[i])) continue;
      const auto open = open_candidates(held_[i]);
      if (std::ranges::any_of(open, [&](ChannelId c) { return used.contains(c); })) continue;
      sum += open.empty() ? held_[i].disturbed : std::min(fault_, held_[i].disturbed);
      used.insert(open.begin(), open.end());
    }
    return sum;
  }

  void step(double cost) {
    if (++steps_ > kMaxSteps || cost + least_more() > best_ + kWindow) return;
    std::size_t next = held_.size();
    std::vector<ChannelId> open;
    for (std::size_t i = 0; i < held_.size(); ++i) {
      if (is_left_[i] || is_explained(held_[i])) continue;
      auto candidates = open_candidates(held_[i]);
      if (next == held_.size() || candidates.size() < open.size()) next = i, open = std::move(candidates);
    }
    if (next == held_.size()) {
      best_ = std::min(best_, cost);
      const auto [at, is_new] = costs_.try_emplace(chosen_, cost);
      if (!is_new) at->second = std::min(at->second, cost);
      return;
    }
    std::ranges::stable_sort(open, std::ranges::greater{}, [&](ChannelId c) { return would_explain(c); });
    for (const ChannelId channel : open) {
      chosen_.insert(channel);
      step(cost + fault_);
      chosen_.erase(channel);
      ruled_out_.insert(channel);
    }
    is_left_[next] = true;
    step(cost + held_[next].disturbed);
    is_left_[next] = false;
    for (const ChannelId channel : open) ruled_out_.erase(channel);
  }

  std::size_t would_explain(ChannelId channel) const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < held_.size(); ++i)
      if (!is_left_[i] && !is_explained(held_[i]) && std::ranges::binary_search(held_[i].candidates, channel))
        ++count;
    return count;
  }

  std::span<const HeldBack> held_;
  double fault_;
  std::set<ChannelId> chosen_;
  std::set<ChannelId> ruled_out_;
  std::vector<bool> is_left_ = std::vector<bool>(held_.size(), false);
  std::map<std::set<ChannelId>, double> costs_;
  double best_ = 1e300;
  std::size_t steps_ = 0;
};

}  // namespace

std::vector<Explanation> explanations(std::span<const HeldBack> held, double fault) {
  return Search(held, fault).run();
}

std::vector<std::vector<Explanation>> independent_parts(std::span<const Explanation> all) {
  std::vector<std::vector<Explanation>> parts;
  std::vector<double> product(all.size(), 1.0);
  for (const auto& channels : dependent_channels(all)) {
    std::map<std::vector<ChannelId>, double> sums;
    for (const Explanation& one : all) sums[within(one, channels)] += one.probability;
    for (std::size_t i = 0; i < all.size(); ++i) product[i] *= sums.at(within(all[i], channels));
    parts.emplace_back();
    for (const auto& [culprits, sum] : sums) parts.back().push_back({culprits, sum});
    std::ranges::stable_sort(parts.back(), std::ranges::greater{}, &Explanation::probability);
  }
  for (std::size_t i = 0; i < all.size(); ++i)
    if (std::abs(product[i] - all[i].probability) > kProduct) return {{all.begin(), all.end()}};
  return parts;
}

std::vector<std::vector<std::uint32_t>> questions(std::span<const HeldBack> held) {
  DisjointSets joined(held.size());
  std::map<ChannelId, std::uint32_t> first;
  for (std::uint32_t i = 0; i < held.size(); ++i)
    for (const ChannelId channel : held[i].candidates) {
      const auto [at, is_new] = first.try_emplace(channel, i);
      if (!is_new) joined.join(i, at->second);
    }
  return joined.sets();
}

}  // namespace weft::diagnosis
