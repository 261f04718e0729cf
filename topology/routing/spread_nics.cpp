#include "topology/routing/spread_nics.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "topology/model/fabric.hpp"
#include "topology/routing/shortest_paths.hpp"

namespace weft::routing {
namespace {

constexpr std::uint32_t kNoWay = 1U << 30U;  // beyond any number of hops

struct EdgeSwitch {
  NodeId node;
  std::vector<PortId> nics;        // not chosen yet
  std::uint32_t nearest = kNoWay;  // hops to the nearest switch with a chosen NIC
  bool chosen = false;
};

class Choice {
 public:
  explicit Choice(const Fabric& fabric) : fabric_(fabric) {
    std::map<NodeId, std::size_t> index;
    for (const PortId nic : fabric.nics()) {
      const NodeId node = edge_switch(fabric, nic);
      if (fabric.is_host(node)) continue;
      const auto [at, is_new] = index.emplace(node, edges_.size());
      if (is_new) edges_.push_back({node, {}});
      edges_[at->second].nics.push_back(nic);
    }
  }

  std::vector<PortId> run(std::size_t most) {
    while (chosen_.size() < most) {
      EdgeSwitch* next = farthest();
      if (next == nullptr) break;
      const bool is_alone = next->nearest == kNoWay;
      take(*next);
      if (is_alone && chosen_.size() < most) take_partner(*next);
    }
    return std::move(chosen_);
  }

 private:
  /// The first of those farthest from all with a chosen NIC.
  EdgeSwitch* farthest() {
    EdgeSwitch* best = nullptr;
    for (EdgeSwitch& edge : edges_)
      if (!edge.chosen && (best == nullptr || edge.nearest > best->nearest)) best = &edge;
    return best;
  }

  /// The switch farthest from one that is the only one taken of its part, or that switch again.
  void take_partner(EdgeSwitch& alone) {
    const ShortestPaths ways(fabric_, alone.node);
    EdgeSwitch* partner = &alone;
    std::uint32_t most_hops = 0;
    for (EdgeSwitch& edge : edges_)
      if (const auto hops = ways.hops(edge.node); hops && *hops > most_hops) {
        partner = &edge;
        most_hops = *hops;
      }
    if (!partner->nics.empty()) take(*partner);
  }

  void take(EdgeSwitch& edge) {
    const auto used = [&](PortId nic) { return nics_of_[fabric_.port(nic).node]; };
    const auto nic = std::ranges::min_element(edge.nics, {}, used);
    ++nics_of_[fabric_.port(*nic).node];
    chosen_.push_back(*nic);
    edge.nics.erase(nic);
    edge.chosen = true;
    const ShortestPaths ways(fabric_, edge.node);
    for (EdgeSwitch& other : edges_)
      if (const auto hops = ways.hops(other.node)) other.nearest = std::min(other.nearest, *hops);
  }

  const Fabric& fabric_;
  std::vector<EdgeSwitch> edges_;  // in the order of their first NICs
  std::map<NodeId, unsigned> nics_of_;
  std::vector<PortId> chosen_;
};

}  // namespace

std::vector<PortId> spread_nics(const Fabric& fabric, std::size_t most) { return Choice(fabric).run(most); }

}  // namespace weft::routing
