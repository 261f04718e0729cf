#include "balancer/assign/solve_equal.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "balancer/assign/construct.hpp"
#include "balancer/assign/even_out.hpp"
#include "balancer/assign/greedy.hpp"
#include "balancer/assign/mend.hpp"
#include "balancer/assign/placement.hpp"
#include "balancer/assign/rooms.hpp"
#include "balancer/assign/squeeze.hpp"

namespace weft::assign {
namespace {

/// How good a placement is: what counts first stands first.
struct Evenness {
  double busiest = 0;   // level of the busiest channel
  double squares = 0;   // sum over channels of the level squared
  double slowness = 0;  // sum over items of the level of their busiest channel
  /// Less is better; differences of rounding are none.
  bool better_than(const Evenness& other) const;
};

/// Relative: what is nearer than this is equal.
constexpr double kTiny = 1e-9;
/// Of the busiest level: differences below this are not worth a move.
constexpr double kMinGain = 0.002;
/// Changes looked at: some 20 ms on one core.
constexpr std::uint64_t kMaxTries = 200'000;

double level_of(const Placement& placement, const SwitchRoute& route) {
  double level = 0;
  for (const ChannelId c : route.channels()) level = std::max(level, placement.level(c));
  return level;
}

class Joining {
 public:
  Joining(Placement& placement, const std::vector<double>& most)
      : placement_(placement), most_(most), change_(most.size()), stamp_(placement.class_count()) {}

  void run() {
    for (bool any = true; any && tries_ < kMaxTries;) {
      any = false;
      for (ItemId item = 0; item < placement_.instance().item_count() && tries_ < kMaxTries; ++item)
        any = improve(item) || any;
    }
  }

 private:
  struct Move {
    ItemId item;
    std::uint32_t route;
  };

  const Instance& instance() const { return placement_.instance(); }

  double least_level(const SwitchRoute& route) const {
    double level = std::numeric_limits<double>::infinity();
    for (const ChannelId c : route.channels()) level = std::min(level, placement_.level(c));
    return level;
  }

  /// An item that is slow on one channel of its way alone may make room there for others.
  bool improve(ItemId item) {
    const SwitchRoute taken = placement_.route(item);
    const double level = level_of(placement_, taken);
    if (level - least_level(taken) <= level * kMinGain) return false;
    const auto& routes = instance().routes_of(item);
    for (std::uint32_t r = 0; r < routes.size(); ++r) {
      if (r == placement_.route_index(item)) continue;
      const Move first{item, r};
      if (attempt({&first, 1}) || with_another(first, routes[r])) return true;
    }
    return false;
  }

  /// The same with an item of the new route making room.
  bool with_another(const Move& first, const SwitchRoute& route) {
    for (const ChannelId c : route.channels()) {
      const auto classes = placement_.classes_on(c);  // a copy: tries move items
      for (const ClassId alike : classes) {
        const ItemId other = placement_.first_of(alike);
        if (other == first.item) continue;
        const auto count = static_cast<std::uint32_t>(instance().routes_of(other).size());
        for (std::uint32_t r = 0; r < count; ++r) {
          if (r == placement_.route_index(other)) continue;
          const Move both[]{first, {other, r}};
          if (tries_ >= kMaxTries) return false;
          if (attempt(both)) return true;
        }
      }
    }
    return false;
  }

  /// Makes the moves and answers true if they help.
  bool attempt(std::span<const Move> moves) {
    ++tries_;
    if (!allowed(moves)) return false;
    const double before = slowness();
    std::vector<std::uint32_t> old;
    for (const Move& move : moves) {
      old.push_back(placement_.route_index(move.item));
      placement_.move(move.item, move.route);
    }
    if (slowness() < before * (1 - kTiny)) return true;
    for (std::size_t i = 0; i < moves.size(); ++i) placement_.move(moves[i].item, old[i]);
    return false;
  }

  void add(const SwitchRoute& route, double bytes) {
    for (const ChannelId c : route.channels()) {
      if (change_[c.value()] == 0) touched_.push_back(c);
      change_[c.value()] += bytes;
    }
  }

  /// True when the squares of the levels do not grow by these moves, nor any channel beyond what it may carry
  /// or what the busiest of the old routes carries. Leaves in touched_ the channels that they change.
  bool allowed(std::span<const Move> moves) {
    touched_.clear();
    double highest = 0;
    for (const Move& move : moves) {
      const double bytes = instance().bytes_of(move.item);
      highest = std::max(highest, level_of(placement_, placement_.route(move.item)));
      add(placement_.route(move.item), -bytes);
      add(instance().routes_of(move.item)[move.route], bytes);
    }
    double squares = 0;
    bool fits = true;
    for (const ChannelId c : touched_) {
      const double load = placement_.load(c);
      const double after = load + std::exchange(change_[c.value()], 0.0);
      const double weight = instance().weight[c.value()];
      squares += (after * after - load * load) / (weight * weight);
      if (after <= load) continue;
      fits = fits && after <= std::max(load, most_[c.value()]) * (1 + kTiny) &&
             after <= highest * weight * (1 + kTiny);
    }
    return fits && squares <= highest * highest * kTiny;
  }

  /// The sum of the levels of all items that cross a touched channel.
  double slowness() {
    ++epoch_;
    double sum = 0;
    for (const ChannelId c : touched_)
      for (const ClassId alike : placement_.classes_on(c)) {
        if (std::exchange(stamp_[alike], epoch_) == epoch_) continue;
        sum += placement_.size_of(alike) * level_of(placement_, placement_.route(placement_.first_of(alike)));
      }
    return sum;
  }

  Placement& placement_;
  const std::vector<double>& most_;
  std::vector<double> change_;  // per channel; zero between calls
  std::vector<ChannelId> touched_;
  std::vector<std::uint32_t> stamp_;  // per class: the epoch that counted it
  std::uint32_t epoch_ = 0;
  std::uint64_t tries_ = 0;
};

std::vector<double> levels_of(const Instance& instance, const std::vector<SwitchRoute>& taken) {
  std::vector<double> level(instance.weight.size());
  for (ItemId item = 0; item < taken.size(); ++item)
    for (const ChannelId c : taken[item].channels())
      level[c.value()] += instance.bytes_of(item) / instance.weight[c.value()];
  return level;
}

struct RankedRoute {
  double level = 0;          // of its busiest channel
  std::uint32_t repeat = 0;  // so many like it stand before it
  SwitchRoute route;
};

/// Routes of the greatest level first; within a level all different ones before any is repeated.
void rank(std::vector<RankedRoute>& routes) {
  std::ranges::sort(routes, [](const RankedRoute& a, const RankedRoute& b) {
    if (a.level != b.level) return a.level > b.level;
    return std::ranges::lexicographical_compare(a.route.channels(), b.route.channels());
  });
  for (std::size_t i = 1; i < routes.size(); ++i)
    if (routes[i].route == routes[i - 1].route) routes[i].repeat = routes[i - 1].repeat + 1;
  std::ranges::stable_sort(routes, [](const RankedRoute& a, const RankedRoute& b) {
    return std::pair(-a.level, a.repeat) < std::pair(-b.level, b.repeat);
  });
}

bool Evenness::better_than(const Evenness& other) const {
  for (const auto part : {&Evenness::busiest, &Evenness::squares, &Evenness::slowness})
    if (std::abs(this->*part - other.*part) > other.*part * kTiny) return this->*part < other.*part;
  return false;
}

Evenness evenness_of(const Placement& placement) {
  const Instance& instance = placement.instance();
  Evenness sum;
  for (std::uint32_t c = 0; c < instance.weight.size(); ++c) {
    if (instance.weight[c] <= 0) continue;
    const double level = placement.level(ChannelId(c));
    sum.busiest = std::max(sum.busiest, level);
    sum.squares += level * level;
  }
  for (ItemId item = 0; item < instance.item_count(); ++item)
    sum.slowness += level_of(placement, placement.route(item));
  return sum;
}

/// Moves items, one or two at a time, so that the sum over all items of the level of their busiest channel
/// falls, while the sum of the squares of the loads does not rise and no channel gets beyond `most`.
/// Precondition: all items placed. Bounded in steps.
void join_slow(Placement& placement, const std::vector<double>& most) { Joining(placement, most).run(); }

/// QPs of a pair of leaves that take slow routes (those over busier channels) are gathered in as few flows as
/// may be, each channel carrying what it carried: a flow is through when its last QP is. QPs of one flow
/// still take different routes as far as there are. Where labels are known by pair every pair stands alone,
/// and nothing changes.
void gather_slow(const Instance& instance, std::vector<SwitchRoute>& taken) {
  if (!instance.equal || instance.labelled || instance.qps == 1) return;
  const auto level = levels_of(instance, taken);
  std::vector<std::vector<ItemId>> items_of(instance.groups.size());
  for (ItemId item = 0; item < taken.size(); ++item)
    items_of[instance.crossing_of(item).group].push_back(item);
  std::vector<RankedRoute> routes;
  for (const auto& items : items_of) {
    routes.clear();
    double least = std::numeric_limits<double>::infinity();
    double most = 0;
    for (const ItemId item : items) {
      double busiest = 0;
      for (const ChannelId c : taken[item].channels()) busiest = std::max(busiest, level[c.value()]);
      routes.push_back({busiest, 0, taken[item]});
      least = std::min(least, busiest);
      most = std::max(most, busiest);
    }
    if (items.size() <= instance.qps || most - least <= most * kMinGain) continue;
    rank(routes);
    for (std::size_t i = 0; i < items.size(); ++i) taken[items[i]] = routes[i].route;
  }
}

/// Up to so many items a second start, from greedy, is worth its time: some 50 ms.
constexpr std::size_t kTwoStartsUpTo = 5000;

bool within(const Instance& instance, const std::vector<double>& room,
            const std::vector<SwitchRoute>& taken) {
  std::vector<double> load(room.size());
  const double tolerance = instance.quantum / 2;
  for (const SwitchRoute& route : taken)
    for (const ChannelId channel : route.channels()) {
      load[channel.value()] += instance.quantum;
      if (load[channel.value()] > room[channel.value()] + tolerance) return false;
    }
  return true;
}

/// What lacks a place gets one, what crowds a channel another; then all is evened out.
void finish(Placement& placement, std::vector<ItemId> loose, const Routes& routes,
            const std::vector<double>& room, double bound, std::uint64_t seed) {
  placement.set_room(room);
  const auto over = shed(placement);
  loose.insert(loose.end(), over.begin(), over.end());
  place_all(placement, std::move(loose), bound, seed);
  even_out(placement, routes, room, seed);
  join_slow(placement, room);
}

}  // namespace

std::vector<SwitchRoute> solve_equal(Instance& instance, const Routes& routes,
                                     const std::optional<Skeleton>& skeleton, const Bounds& bounds,
                                     std::uint64_t seed) {
  std::vector<ItemId> loose(instance.item_count());
  std::iota(loose.begin(), loose.end(), 0U);
  const auto room = rooms_by_leaf(instance, routes, bounds);
  std::vector<SwitchRoute> taken;
  if (skeleton) taken = construct(instance, routes, *skeleton, loose);
  if (!skeleton || !skeleton->whole() || instance.labelled || !within(instance, room, taken)) {
    instance.fill_routes(routes);
    Placement placement(instance);
    if (skeleton) loose = put_wanted(placement, loose, taken);
    finish(placement, std::move(loose), routes, room, bounds.integral, seed);
    taken = placement.routes();
    if (instance.item_count() <= kTwoStartsUpTo) {
      Placement other(instance);
      for (const ItemId item : by_size(instance)) place_least_loaded(other, item);
      finish(other, {}, routes, room, bounds.integral, seed);
      if (evenness_of(other).better_than(evenness_of(placement))) taken = other.routes();
    }
  }
  gather_slow(instance, taken);
  return taken;
}

}  // namespace weft::assign
