// Chains: finding room for one more item where every route is full somewhere. The item takes a route on which
// a single channel is full, an item of that channel moves elsewhere, and so on until one finds room: in a
// bipartite graph these are the alternating paths of Koenig's proof, and with lists of allowed routes
// (missing links, known labels) they still find a way where one exists near by. Breadth first, so the chain
// with the fewest moves is found. Deterministic.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "balancer/assign/placement.hpp"
#include "topology/base/splitmix.hpp"

namespace weft::assign {

class Chains {
 public:
  /// Steps looked at before a search gives up: well beyond what any solvable case measured here needed.
  static constexpr std::size_t kMaxSteps = 200'000;

  /// Holds a reference. `seed` picks among equal routes.
  Chains(Placement& placement, std::uint64_t seed, std::size_t most_steps = kMaxSteps);

  /// Places `item`, which is not placed, within every channel's room. Answers how many placed items moved, or
  /// nothing when no chain was found (the placement is then unchanged).
  std::optional<std::uint32_t> place(ItemId item);

  /// Moves one item off `channel`, which is beyond its room, with none else getting beyond theirs; false, and
  /// all as before, when no chain was found.
  bool relieve(ChannelId channel);

  /// Places `item` although no chain was found: on the route with the fewest full channels, ejecting items
  /// into `loose`. For a search that goes on with those.
  void force(ItemId item, std::vector<ItemId>& loose);

  /// Steps looked at so far, by all searches: what a bounded effort is counted in.
  std::uint64_t steps_taken() const { return steps_taken_; }

 private:
  struct Step {
    ItemId item;
    std::uint32_t parent;  // index into steps_
    std::uint32_t route;   // what the parent's item takes, ejecting this one
  };

  bool place_directly(ItemId item);
  /// Goes on from the steps there are until a chain ends; answers its moves beside the first.
  std::optional<std::uint32_t> search();
  /// Tries to end a chain at steps_[at], else appends the steps that go on from it. True: ended and applied.
  bool expand(std::uint32_t at);
  /// Appends the steps in which an item of `bytes` at least makes room on `channel` for that of steps_[at],
  /// which then takes `route`.
  void eject_from(ChannelId channel, double bytes, std::uint32_t at, std::uint32_t route);
  void apply(std::uint32_t at, std::uint32_t route);
  /// Adds the changes that the chain up to steps_[at] makes to loads, times `sign`.
  void add_changes(std::uint32_t at, double sign);
  /// How far `channel` would be beyond its room with `bytes` more, the chain under way counted.
  double lack(ChannelId channel, double bytes) const {
    return placement_.lack(channel, change_[channel.value()] + bytes);
  }
  std::uint32_t random() { return static_cast<std::uint32_t>(random_() >> 32); }

  /// Items on `channel`, those forced longest ago first: of each class as many as make `bytes`.
  std::vector<ItemId> longest_unforced(ChannelId channel, double bytes) const;
  /// The items to eject from `route` so that `item` fits, those forced longest ago first; absent: not even
  /// so.
  std::optional<std::vector<ItemId>> victims(ItemId item, const SwitchRoute& route) const;

  Placement& placement_;
  SplitMix64 random_;
  std::size_t most_steps_;
  std::uint64_t steps_taken_ = 0;
  std::vector<Step> steps_;
  std::vector<std::uint32_t> seen_;   // per class: the search that reached it
  std::vector<std::uint32_t> swept_;  // per channel: the search that reached all its classes
  std::uint32_t search_ = 0;
  std::vector<double> change_;                // per channel, bytes; zero between calls
  std::vector<std::uint32_t> forced_before_;  // per item: when it was last forced
  std::uint32_t forced_ = 0;
};

}  // namespace weft::assign
