#include "topology/routing/min_hop_tables.hpp"

#include <algorithm>
#include <tuple>

#include "topology/model/fabric.hpp"

namespace weft::routing {
namespace {

constexpr unsigned kFar = 0xFFFF;

class Filler {
 public:
  Filler(const InfinibandFabric& whole, std::span<const LinkId> dead)
      : fabric_(whole.fabric), tables_(whole), dead_(fabric_.link_count(), false) {
    for (const LinkId link : dead) dead_[link.value()] = true;
    ways_.resize(tables_.switch_count());
    for (std::size_t s = 0; s < ways_.size(); ++s) find_ways(s);
    taken_.resize(tables_.switch_count());
  }

  ForwardingTables run() && {
    for (std::size_t s = 0; s < tables_.switch_count(); ++s) {
      distance_.clear();
      for (const PortId port : fabric_.ports_of(tables_.switch_at(s)))
        if (const auto nic = nic_behind(port)) fill(s, port, *nic);
    }
    return std::move(tables_);
  }

 private:
  struct Way {
    std::uint8_t port = 0;
    std::size_t to = 0;      // a switch's index
    std::uint32_t load = 0;  // LIDs sent over it
  };

  bool is_live(PortId port) const {
    const auto& link = fabric_.port(port).link;
    return link && !dead_[link->value()];
  }
  std::uint8_t number(PortId port) const {
    return static_cast<std::uint8_t>(fabric_.port(port).number.value());
  }

  void find_ways(std::size_t s) {
    for (const PortId port : fabric_.ports_of(tables_.switch_at(s)))
      if (const auto to = is_live(port) ? tables_.index_of(fabric_.target_node(*fabric_.channel_from(port)))
                                        : std::nullopt)
        ways_[s].push_back({number(port), *to});
  }

  std::optional<PortId> nic_behind(PortId port) const {
    if (!is_live(port)) return std::nullopt;
    const PortId far = fabric_.target(*fabric_.channel_from(port));
    return fabric_.is_host(fabric_.port(far).node) ? std::optional(far) : std::nullopt;
  }

  /// Hops from every switch to this one; the same for all its NICs.
  void measure(std::size_t leaf) {
    distance_.assign(tables_.switch_count(), kFar);
    distance_[leaf] = 0;
    std::vector<std::size_t> open{leaf};
    for (std::size_t i = 0; i < open.size(); ++i)
      for (const Way& way : ways_[open[i]])
        if (distance_[way.to] == kFar) {
          distance_[way.to] = distance_[open[i]] + 1;
          open.push_back(way.to);
        }
  }

  void fill(std::size_t leaf, PortId at, PortId nic) {
    const auto lids = tables_.lids_of(nic);
    if (!lids) return;
    if (distance_.empty()) measure(leaf);
    for (auto& taken : taken_) taken.clear();
    for (std::uint32_t lid = lids->base.value(); lid < lids->end(); ++lid) {
      set(leaf, lid, number(at));
      for (std::size_t s = 0; s < ways_.size(); ++s)
        if (s != leaf && distance_[s] != kFar) set(s, lid, choose(s));
    }
  }

  void set(std::size_t s, std::uint32_t lid, std::uint8_t port) {
    tables_.set(tables_.switch_at(s), lid, std::span(&port, 1));
  }

  /// Of the ways that are nearer: to the switch that fewest of this NIC's LIDs go to, by the port that fewest
  /// of them take, then by the one that fewest of all do.
  std::uint8_t choose(std::size_t s) {
    auto& taken = taken_[s];
    const auto rank_of = [&](const Way& way) {
      const auto same_switch = std::ranges::count(taken, way.to, &Way::to);
      const auto same_port = std::ranges::count(taken, way.port, &Way::port);
      return std::tuple(same_switch, same_port, way.load, way.port);
    };
    Way* best = nullptr;
    decltype(rank_of(*best)) lowest;
    for (Way& way : ways_[s]) {
      if (distance_[way.to] + 1 != distance_[s]) continue;
      const auto rank = rank_of(way);
      if (best == nullptr || rank < lowest) best = &way, lowest = rank;
    }
    ++best->load;  // there is one: this switch has a distance
    taken.push_back(*best);
    return best->port;
  }

  const Fabric& fabric_;
  ForwardingTables tables_;
  std::vector<bool> dead_;               // by link
  std::vector<std::vector<Way>> ways_;   // by switch
  std::vector<std::vector<Way>> taken_;  // by switch: by the LIDs of the NIC at hand
  std::vector<unsigned> distance_;       // by switch, to the one at hand
};

}  // namespace

ForwardingTables fill_min_hop(const InfinibandFabric& fabric, std::span<const LinkId> dead) {
  return Filler(fabric, dead).run();
}

}  // namespace weft::routing
