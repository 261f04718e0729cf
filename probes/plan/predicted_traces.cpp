#include "probes/plan/predicted_traces.hpp"

#include <algorithm>
#include <map>
#include <random>

namespace weft::plan {
namespace {

constexpr std::size_t kLabelsPerChannel = 4;  // as many as a fresh model is checked by (hash_learner.cpp)
/// Labels looked at: those of one pair, and of all. More costs a large fabric minutes.
constexpr std::size_t kMaxOfPair = 256;
constexpr std::size_t kMaxOpenLabels = 64;
constexpr std::size_t kMaxWalks = 500'000;

}  // namespace

void PredictedTraces::learn(std::span<const NicPair> pairs) {
  const PathTable& table = learner_->table();
  for (const NicPair& pair : pairs) {
    const PairRoutes* known = learner_->find(pair.src, pair.dst);
    if (!known) continue;
    auto& learned = learned_[pair];
    for (; learned < known->routes.size(); ++learned) {
      const Route& route = known->routes[learned];
      const auto paths = table.paths(route.paths);
      const auto path = table.channels(paths.front());
      if (paths.size() == 1 && route.reached) hashes_.learn(pair, route.label, path, path.size());
    }
  }
}

std::vector<TracePlan> PredictedTraces::next(std::span<const NicPair> pairs,
                                             std::span<const ChannelId> unseen, std::uint64_t seed) {
  learn(pairs);
  std::map<ChannelId, std::size_t> wanted;
  for (const ChannelId channel : unseen) wanted[channel] = kLabelsPerChannel;
  std::vector<TracePlan> plan;
  std::mt19937_64 random(seed);
  std::size_t walks = 0;
  for (const NicPair& pair : pairs) {
    TracePlan of_pair{pair, {}};
    std::size_t open = 0;
    for (std::size_t i = 0; i < kMaxOfPair && walks < kMaxWalks && !wanted.empty(); ++i, ++walks) {
      const PathLabel label(kFirstRoceLabel + static_cast<std::uint32_t>(random() % kRoceLabels));
      const auto way = hashes_.walk(pair, label, true);
      if (!way.arrives) {
        if (++open == kMaxOpenLabels) break;  // of this pair next to nothing is predicted
        continue;
      }
      bool is_wanted = false;
      for (const ChannelId channel : way.channels)
        if (const auto at = wanted.find(channel); at != wanted.end()) {
          is_wanted = true;
          if (--at->second == 0) wanted.erase(at);
        }
      if (is_wanted && std::ranges::find(of_pair.labels, label) == of_pair.labels.end())
        of_pair.labels.push_back(label);
    }
    if (!of_pair.labels.empty()) plan.push_back(std::move(of_pair));
  }
  return plan;
}

}  // namespace weft::plan
