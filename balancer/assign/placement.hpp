// Placement: which route every item of an instance takes now, and what that puts on every channel, counted in
// items. For instances of equal items: a channel's room is a whole number of them. Mutable scratch of one
// assignment; never shared between threads.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "balancer/assign/instance.hpp"

namespace weft {

/// An item that has no route.
inline constexpr std::uint32_t kUnplaced = std::numeric_limits<std::uint32_t>::max();

class Placement {
 public:
  /// All items unplaced, no room anywhere. Holds a reference to `instance`, whose routes must be filled.
  explicit Placement(const Instance& instance);

  void set_room(std::vector<std::int32_t> items_per_channel) { room_ = std::move(items_per_channel); }
  std::int32_t room(ChannelId channel) const { return room_[channel.value()]; }
  std::int32_t load(ChannelId channel) const {
    return static_cast<std::int32_t>(items_on_[channel.value()].size());
  }
  bool full(ChannelId channel) const { return load(channel) >= room(channel); }
  /// True when every channel of `route` has room for one more.
  bool has_room(const Route& route) const;
  /// How many items lie on channels beyond their room, summed over channels.
  std::int64_t excess() const;

  std::uint32_t route_index(ItemId item) const { return route_[item]; }
  bool placed(ItemId item) const { return route_[item] != kUnplaced; }
  /// Precondition: placed.
  const Route& route(ItemId item) const { return instance_.routes_of(item)[route_[item]]; }
  const std::vector<ItemId>& items_on(ChannelId channel) const { return items_on_[channel.value()]; }
  const Instance& instance() const { return instance_; }

  /// Precondition: not placed.
  void put(ItemId item, std::uint32_t route_index);
  /// Precondition: placed.
  void take(ItemId item);
  void move(ItemId item, std::uint32_t route_index) {
    if (placed(item)) take(item);
    put(item, route_index);
  }

 private:
  const Instance& instance_;
  std::vector<std::int32_t> room_;
  std::vector<std::uint32_t> route_;
  std::vector<std::vector<ItemId>> items_on_;
  std::vector<std::array<std::uint32_t, Route::kMost>> slot_;  // where in items_on_ an item stands
};

}  // namespace weft
