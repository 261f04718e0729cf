// Placement: which route every item of an instance takes now, and what that puts on every channel, in bytes,
// against the room each channel has. Mutable scratch of one assignment; never shared between threads.
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

  /// Bytes that each channel may carry, indexed by channel.
  void set_room(std::vector<double> bytes_per_channel) { room_ = std::move(bytes_per_channel); }
  double room(ChannelId channel) const { return room_[channel.value()]; }
  double load(ChannelId channel) const { return load_[channel.value()]; }
  /// How far `channel` would be beyond its room with `bytes` more; zero or less: it fits.
  double lack(ChannelId channel, double bytes) const {
    return load(channel) + bytes - room(channel) - tolerance_;
  }
  bool over(ChannelId channel) const { return lack(channel, 0) > 0; }
  /// True when every channel of `route` has room for `bytes` more.
  bool has_room(const SwitchRoute& route, double bytes) const;

  std::uint32_t route_index(ItemId item) const { return route_[item]; }
  bool placed(ItemId item) const { return route_[item] != kUnplaced; }
  /// Precondition: placed.
  const SwitchRoute& route(ItemId item) const { return instance_.routes_of(item)[route_[item]]; }
  /// The routes of all items. Precondition: all placed.
  std::vector<SwitchRoute> routes() const;
  /// The route index of every item, to restore() later.
  const std::vector<std::uint32_t>& routes_taken() const { return route_; }
  void restore(const std::vector<std::uint32_t>& routes_taken);
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
  double tolerance_;  // what the rounding of sums may cost
  std::vector<double> room_;
  std::vector<double> load_;
  std::vector<std::uint32_t> route_;
  std::vector<std::vector<ItemId>> items_on_;
  std::vector<std::array<std::uint32_t, SwitchRoute::kMost>> slot_;  // where in items_on_ an item stands
};

}  // namespace weft
