// Placement: which item takes which route, and what every channel then carries. Items of one group and one
// size are alike: those on one route form a class, and a channel knows its classes, not its items, so that
// millions of QPs cost no more than the pairs of leaves they join. Mutable scratch of one assignment; never
// shared between threads.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "balancer/assign/instance.hpp"

namespace weft::assign {

/// An item that has no route.
inline constexpr std::uint32_t kUnplaced = std::numeric_limits<std::uint32_t>::max();

/// The items of one kind on one route: an index, dense from 0.
using ClassId = std::uint32_t;

class Placement {
 public:
  /// All items unplaced, no room anywhere. Holds a reference to `instance`, whose routes must be filled.
  explicit Placement(const Instance& instance);

  /// Bytes that each channel may carry, indexed by channel.
  void set_room(std::vector<double> bytes_per_channel) { room_ = std::move(bytes_per_channel); }
  void set_room(ChannelId channel, double bytes) { room_[channel.value()] = bytes; }
  double room(ChannelId channel) const { return room_[channel.value()]; }
  double load(ChannelId channel) const { return load_[channel.value()]; }
  /// The load over the channel's weight: bytes on the reference rate.
  double level(ChannelId channel) const { return load(channel) / instance_.weight[channel.value()]; }
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
  const Instance& instance() const { return instance_; }

  std::size_t class_count() const { return first_.size(); }
  /// The classes that have items on `channel`.
  const std::vector<ClassId>& classes_on(ChannelId channel) const { return classes_on_[channel.value()]; }
  /// The class an item belongs, or would belong, to on this route.
  ClassId class_of(ItemId item, std::uint32_t route_index) const {
    return first_class_[kind_of_[item / instance_.qps]] + route_index;
  }
  /// The item that has been in the class for longest. Precondition: the class has items.
  ItemId first_of(ClassId of) const { return first_[of]; }
  std::uint32_t size_of(ClassId of) const { return size_[of]; }  // in items
  /// The item that came into its class after this one, round to the first.
  ItemId next_of(ItemId item) const { return next_[item]; }

  /// Precondition: not placed.
  void put(ItemId item, std::uint32_t route_index);
  /// Precondition: placed.
  void take(ItemId item);
  void move(ItemId item, std::uint32_t route_index) {
    if (placed(item)) take(item);
    put(item, route_index);
  }

 private:
  void find_kinds();
  void list(ClassId one, const SwitchRoute& route);
  void unlist(ClassId one, const SwitchRoute& route);

  const Instance& instance_;
  double tolerance_;  // what the rounding of sums may cost
  std::vector<double> room_;
  std::vector<double> load_;
  std::vector<std::uint32_t> route_;
  std::vector<std::uint32_t> kind_of_;  // per crossing: its group and size
  std::vector<ClassId> first_class_;    // per kind
  std::vector<ItemId> first_;           // per class: of a ring of items; kUnplaced where it has none
  std::vector<std::uint32_t> size_;     // per class
  std::vector<ItemId> next_, before_;   // per item: its neighbours in that ring
  std::vector<std::vector<ClassId>> classes_on_;
  std::vector<std::array<std::uint32_t, SwitchRoute::kMax>> slot_;  // where in classes_on_ a class stands
};

}  // namespace weft::assign
