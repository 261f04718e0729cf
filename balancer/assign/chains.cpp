#include "balancer/assign/chains.hpp"

#include <algorithm>

namespace weft::assign {
namespace {

constexpr std::uint32_t kNoParent = std::numeric_limits<std::uint32_t>::max();

}  // namespace

Chains::Chains(Placement& placement, std::uint64_t seed, std::size_t most_steps)
    : placement_(placement),
      random_(seed * kSplitMixStep + 1),
      most_steps_(most_steps),
      seen_(placement.class_count(), 0),
      swept_(placement.instance().weight.size(), 0),
      change_(placement.instance().weight.size(), 0),
      forced_before_(placement.instance().item_count(), 0) {}

std::optional<std::uint32_t> Chains::place(ItemId item) {
  if (place_directly(item)) return 0;
  ++search_;
  steps_.assign(1, {item, kNoParent, 0});
  return search();
}

bool Chains::relieve(ChannelId channel) {
  ++search_;
  steps_.clear();
  for (const ClassId alike : placement_.classes_on(channel)) {
    seen_[alike] = search_;
    steps_.push_back({placement_.first_of(alike), kNoParent, 0});
  }
  return search().has_value();
}

std::optional<std::uint32_t> Chains::search() {
  for (std::uint32_t at = 0; at < steps_.size() && at < most_steps_; ++at) {
    ++steps_taken_;
    if (!expand(at)) continue;
    std::uint32_t moves = 0;
    for (std::uint32_t s = at; steps_[s].parent != kNoParent; s = steps_[s].parent) ++moves;
    return moves;
  }
  return std::nullopt;
}

bool Chains::place_directly(ItemId item) {
  const auto& routes = placement_.instance().routes_of(item);
  if (routes.empty()) return false;
  const auto count = static_cast<std::uint32_t>(routes.size());
  const std::uint32_t start = random() % count;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t r = start + i < count ? start + i : start + i - count;
    if (!placement_.has_room(routes[r], placement_.instance().bytes_of(item))) continue;
    placement_.put(item, r);
    return true;
  }
  return false;
}

void Chains::add_changes(std::uint32_t at, double sign) {
  const auto& instance = placement_.instance();
  for (std::uint32_t s = at; s != kNoParent; s = steps_[s].parent) {
    const Step& step = steps_[s];
    if (placement_.placed(step.item))
      for (const ChannelId c : placement_.route(step.item).channels())
        change_[c.value()] -= sign * instance.bytes_of(step.item);
    if (step.parent == kNoParent) return;
    const ItemId above = steps_[step.parent].item;
    for (const ChannelId c : instance.routes_of(above)[step.route].channels())
      change_[c.value()] += sign * instance.bytes_of(above);
  }
}

void Chains::eject_from(ChannelId channel, double bytes, std::uint32_t at, std::uint32_t route) {
  if (swept_[channel.value()] == search_) return;
  bool all = true;
  for (const ClassId alike : placement_.classes_on(channel)) {
    if (seen_[alike] == search_) continue;
    const ItemId other = placement_.first_of(alike);
    if (placement_.instance().bytes_of(other) < bytes) {
      all = false;
      continue;
    }
    seen_[alike] = search_;
    steps_.push_back({other, at, route});
  }
  if (all) swept_[channel.value()] = search_;
}

bool Chains::expand(std::uint32_t at) {
  const ItemId item = steps_[at].item;
  const Instance& instance = placement_.instance();
  const auto& routes = instance.routes_of(item);
  const double bytes = instance.bytes_of(item);
  const auto count = static_cast<std::uint32_t>(routes.size());
  const std::uint32_t current = placement_.route_index(item);
  add_changes(at, 1);
  const std::uint32_t start = count > 0 ? random() % count : 0;
  std::optional<std::uint32_t> end;
  for (std::uint32_t i = 0; i < count && !end; ++i) {
    const std::uint32_t r = start + i < count ? start + i : start + i - count;
    if (r == current) continue;
    std::uint32_t blocked = 0;
    ChannelId where;
    double short_by = 0;
    for (const ChannelId c : routes[r].channels()) {
      const double lacking = lack(c, bytes);
      if (lacking <= 0) continue;
      ++blocked;
      where = c;
      short_by = lacking;
    }
    if (blocked == 0) end = r;
    if (blocked == 1) eject_from(where, short_by, at, r);
  }
  add_changes(at, -1);
  if (end) apply(at, *end);
  return end.has_value();
}

void Chains::apply(std::uint32_t at, std::uint32_t route) {
  for (std::uint32_t s = at; s != kNoParent; s = steps_[s].parent) {
    placement_.move(steps_[s].item, route);
    route = steps_[s].route;
  }
}

std::vector<ItemId> Chains::longest_unforced(ChannelId channel, double bytes) const {
  std::vector<ItemId> items;
  for (const ClassId alike : placement_.classes_on(channel)) {
    const ItemId first = placement_.first_of(alike);
    ItemId item = first;
    double enough = bytes;
    do {
      items.push_back(item);
      enough -= placement_.instance().bytes_of(item);
      item = placement_.next_of(item);
    } while (item != first && enough > 0);
  }
  std::ranges::stable_sort(items, {}, [this](ItemId item) { return forced_before_[item]; });
  return items;
}

std::optional<std::vector<ItemId>> Chains::victims(ItemId item, const SwitchRoute& route) const {
  std::vector<ItemId> found;
  for (const ChannelId c : route.channels()) {
    double lacking = placement_.lack(c, placement_.instance().bytes_of(item));
    if (lacking <= 0) continue;
    for (const ItemId other : longest_unforced(c, lacking)) {
      if (lacking <= 0) break;
      lacking -= placement_.instance().bytes_of(other);
      if (std::ranges::find(found, other) == found.end()) found.push_back(other);
    }
    if (lacking > 0) return std::nullopt;
  }
  return found;
}

void Chains::force(ItemId item, std::vector<ItemId>& loose) {
  const auto& routes = placement_.instance().routes_of(item);
  forced_before_[item] = ++forced_;
  // Of all ways to eject, the one whose newest victim was forced longest ago; then the fewest victims.
  std::vector<ItemId> best;
  std::uint32_t best_route = kUnplaced;
  std::uint32_t best_age = kNoParent;
  const auto count = static_cast<std::uint32_t>(routes.size());
  const std::uint32_t start = random() % count;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t r = start + i < count ? start + i : start + i - count;
    auto ejected = victims(item, routes[r]);
    if (!ejected) continue;
    std::uint32_t newest = 0;
    for (const ItemId victim : *ejected) newest = std::max(newest, forced_before_[victim]);
    if (newest > best_age || (newest == best_age && ejected->size() >= best.size())) continue;
    best = std::move(*ejected);
    best_route = r;
    best_age = newest;
  }
  if (best_route == kUnplaced) {
    loose.push_back(item);
    return;
  }
  for (const ItemId victim : best) placement_.take(victim);
  placement_.put(item, best_route);
  loose.insert(loose.end(), best.begin(), best.end());
}

}  // namespace weft::assign
