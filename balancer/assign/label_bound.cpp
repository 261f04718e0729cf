#include "balancer/assign/label_bound.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "balancer/assign/lp_bound.hpp"
#include "balancer/assign/rooms.hpp"

namespace weft::assign {
namespace {

constexpr double kTiny = 1e-9;
constexpr double kLpPrecision = 1e-7;
constexpr double kNearEnough = 0.001;  // where bytes may be divided: of the bound
/// Placements looked at in the search: some 100 ms.
constexpr std::uint64_t kMaxTries = 3'000'000;
constexpr std::size_t kMaxSearch = 2000;  // QPs: a level of recursion each
constexpr double kMissed = 0.01;

/// One stage of the routes: how much every group has to bring over its channels there.
class Stage {
 public:
  /// `at` counts from the leaf that sends, or backwards from the one that receives.
  Stage(const Instance& instance, std::size_t at, bool backwards) {
    std::map<ChannelId, std::uint32_t> index;
    for (const FlowGroup& group : instance.groups) {
      std::vector<std::uint32_t> own;
      for (const SwitchRoute& route : group.routes) {
        if (at >= route.size()) continue;
        const ChannelId channel = route.channels()[backwards ? route.size() - 1 - at : at];
        const auto [found, is_new] = index.try_emplace(channel, static_cast<std::uint32_t>(channels_.size()));
        if (is_new) channels_.push_back(channel);
        if (std::ranges::find(own, found->second) == own.end()) own.push_back(found->second);
      }
      if (group.flows == 0 || own.empty()) continue;
      bytes_.push_back(group.bytes);
      choices_.push_back(std::move(own));
    }
  }

  /// Whether the channels, with these rooms (by channel), take what all groups bring.
  bool fits(const std::vector<double>& room) {
    left_.clear();
    for (const ChannelId channel : channels_) left_.push_back(room[channel.value()]);
    carried_.assign(channels_.size(), {});
    for (std::uint32_t g = 0; g < bytes_.size(); ++g) {
      double todo = bytes_[g];
      while (todo > bytes_[g] * kTiny) {
        const double pushed = push(g, todo);
        if (pushed <= bytes_[g] * kTiny) return false;
        todo -= pushed;
      }
    }
    return true;
  }

 private:
  struct Visit {
    std::uint32_t group;
    std::uint32_t channel;  // that it comes to
    std::uint32_t parent;
  };
  static constexpr std::uint32_t kRoot = 0xFFFFFFFF;

  /// Brings some of `bytes` of the group over, other groups making room: breadth first. Answers how much.
  double push(std::uint32_t group, double bytes) {
    std::vector<Visit> visits;
    std::vector<bool> seen(channels_.size());
    const auto visit = [&](std::uint32_t from, std::uint32_t parent) {
      for (const std::uint32_t c : choices_[from])
        if (!seen[c]) seen[c] = true, visits.push_back({from, c, parent});
    };
    visit(group, kRoot);
    for (std::uint32_t at = 0; at < visits.size(); ++at) {
      const std::uint32_t channel = visits[at].channel;
      if (left_[channel] > bytes * kTiny) return carry(visits, at, std::min(bytes, left_[channel]));
      for (const auto& [other, amount] : carried_[channel])
        if (amount > bytes * kTiny) visit(other, at);
    }
    return 0;
  }

  double carry(const std::vector<Visit>& visits, std::uint32_t at, double bytes) {
    for (std::uint32_t v = at; visits[v].parent != kRoot; v = visits[v].parent)
      bytes = std::min(bytes, carried_[visits[visits[v].parent].channel][visits[v].group]);
    left_[visits[at].channel] -= bytes;
    for (std::uint32_t v = at; v != kRoot; v = visits[v].parent) {
      carried_[visits[v].channel][visits[v].group] += bytes;
      if (visits[v].parent != kRoot) carried_[visits[visits[v].parent].channel][visits[v].group] -= bytes;
    }
    return bytes;
  }

  std::vector<ChannelId> channels_;
  std::vector<double> bytes_;                             // per group
  std::vector<std::vector<std::uint32_t>> choices_;       // per group: indices into channels_
  std::vector<double> left_;                              // per channel
  std::vector<std::map<std::uint32_t, double>> carried_;  // per channel: by group
};

/// Looks through all assignments of equal items within rooms; QPs of one group are alike.
class Search {
 public:
  explicit Search(const Instance& instance) : instance_(instance), order_(instance.item_count()) {
    std::iota(order_.begin(), order_.end(), 0U);
    const auto key = [&](ItemId i) {
      return std::pair(instance.routes_of(i).size(), instance.crossing_of(i).group);
    };
    std::ranges::stable_sort(order_, {}, key);
    taken_.resize(order_.size());
  }

  enum class Answer { fits, does_not, unknown };
  Answer run(const std::vector<double>& room) {
    left_.clear();
    for (const double bytes : room) left_.push_back(std::llround(bytes / instance_.quantum));
    return place(0);
  }
  std::vector<SwitchRoute> routes() const {
    std::vector<SwitchRoute> routes(order_.size());
    for (std::size_t i = 0; i < order_.size(); ++i)
      routes[order_[i]] = instance_.routes_of(order_[i])[taken_[i]];
    return routes;
  }

 private:
  Answer place(std::size_t at) {
    if (at == order_.size()) return Answer::fits;
    const auto& routes = instance_.routes_of(order_[at]);
    const bool alike =
        at > 0 && instance_.crossing_of(order_[at]).group == instance_.crossing_of(order_[at - 1]).group;
    for (std::uint32_t r = alike ? taken_[at - 1] : 0; r < routes.size(); ++r) {
      if (++tries_ > kMaxTries) return Answer::unknown;
      if (!std::ranges::all_of(routes[r].channels(), [&](ChannelId c) { return left_[c.value()] > 0; }))
        continue;
      for (const ChannelId c : routes[r].channels()) --left_[c.value()];
      taken_[at] = r;
      const Answer answer = place(at + 1);
      for (const ChannelId c : routes[r].channels()) ++left_[c.value()];
      if (answer != Answer::does_not) return answer;
    }
    return Answer::does_not;
  }

  const Instance& instance_;
  std::vector<ItemId> order_;  // those with the fewest routes first
  std::vector<std::uint32_t> taken_;
  std::vector<long long> left_;  // per channel: items
  std::uint64_t tries_ = 0;
};

std::vector<double> rooms(const Instance& instance, double bytes, bool divisible) {
  if (!divisible) return rooms_of(instance, bytes);
  std::vector<double> room;
  for (const double weight : instance.weight) room.push_back(bytes * weight);
  return room;
}

/// The greatest bound between `low` and `found` that the stages prove.
double by_stages(const Instance& instance, double low, double found, bool divisible) {
  std::vector<Stage> stages;
  for (const std::size_t at : {std::size_t{0}, std::size_t{1}})
    for (const bool backwards : {false, true}) stages.emplace_back(instance, at, backwards);
  const auto fits = [&](double bytes) {
    const auto room = rooms(instance, bytes * (1 + kTiny), divisible);
    return std::ranges::all_of(stages, [&](Stage& stage) { return stage.fits(room); });
  };
  if (fits(low)) return low;
  double high = found;
  while (high - low > high * kNearEnough && (divisible || next_rooms(instance, low) < high * (1 - kTiny))) {
    const double middle = (low + high) / 2;
    (fits(middle) ? high : low) = middle;
  }
  return divisible ? low : std::min(found, next_rooms(instance, low));
}

}  // namespace

LabelBound bound_by_labels(const Instance& instance, double low, double found, bool divisible,
                           std::size_t lp_variables) {
  LabelBound bound{low, {}};
  divisible = divisible || !instance.equal;
  if (found <= low * (1 + kTiny)) return bound;
  bound.bytes = by_stages(instance, low, found, divisible);
  if (bound.bytes >= found * (1 - kTiny)) return bound;
  // A row for each pair of NICs, not of leaves: half as many variables take as long.
  if (const auto optimum = lp_optimum(instance, lp_variables / 2); optimum && *optimum > bound.bytes)
    bound.bytes = divisible ? *optimum : next_rooms(instance, *optimum * (1 - kLpPrecision));
  if (divisible || instance.item_count() > kMaxSearch) return bound;
  Search search(instance);
  while (bound.bytes < found * (1 - kTiny)) {
    const auto answer = search.run(rooms_of(instance, bound.bytes));
    if (answer == Search::Answer::fits) bound.better = search.routes();
    if (answer != Search::Answer::does_not) return bound;
    bound.bytes = next_rooms(instance, bound.bytes);
  }
  bound.bytes = std::min(bound.bytes, found);
  return bound;
}

std::uint32_t labels_for(std::uint32_t paths) {
  if (paths <= 1) return 1;
  return static_cast<std::uint32_t>(std::ceil(std::log(kMissed / paths) / std::log1p(-1.0 / paths)));
}

}  // namespace weft::assign
