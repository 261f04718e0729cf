#include <algorithm>
#include <cmath>

#include "tests/bench/diagnosis/comparators.hpp"

namespace weft::bench {
namespace {

/// Calls `visit(right, named, threshold)` for every threshold of these entries, the highest first.
template <class Visit>
void for_each_cut(std::vector<std::pair<double, bool>> entries, Visit visit) {
  std::ranges::sort(entries, std::greater{});
  double right = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    right += entries[i].second ? 1 : 0;
    if (i + 1 < entries.size() && entries[i + 1].first == entries[i].first) continue;
    visit(right, static_cast<double>(i + 1), entries[i].first);
  }
}

}  // namespace

void Pool::add(const std::map<std::string, Ranking>& rankings, const std::vector<ChannelId>& faults) {
  faults_ += faults.size();
  for (const auto& [setting, ranking] : rankings)
    for (const auto& [channel, score] : ranking)
      entries_[setting].emplace_back(score, std::ranges::binary_search(faults, channel));
}

BestOfAll Pool::best() const {
  BestOfAll best;
  double best_f1 = -1;
  const auto faults = static_cast<double>(std::max<std::size_t>(faults_, 1));
  for (const auto& [setting, entries] : entries_)
    for_each_cut(entries, [&](double right, double named, double threshold) {
      const double f1 = 2 * right / (named + faults);
      if (f1 <= best_f1) return;
      best_f1 = f1;
      best = {right / named, right / faults, setting, threshold};
    });
  return best;
}

BestOfAll Pool::with(const BestOfAll& other) const {
  BestOfAll result{1.0, 0.0, other.setting, other.threshold};
  const auto entries = entries_.find(other.setting);
  if (entries == entries_.end()) return result;
  for_each_cut(entries->second, [&](double right, double named, double threshold) {
    if (threshold < other.threshold) return;
    result.precision = right / named;
    result.recall = right / static_cast<double>(std::max<std::size_t>(faults_, 1));
  });
  return result;
}

double Pool::recall_at(double precision) const {
  double most = 0;
  for (const auto& [setting, entries] : entries_)
    for_each_cut(entries, [&](double right, double named, double) {
      if (right >= precision * named) most = std::max(most, right);
    });
  return most / static_cast<double>(std::max<std::size_t>(faults_, 1));
}

}  // namespace weft::bench
