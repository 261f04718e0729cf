#include "balancer/export/switch_ways.hpp"

namespace weft::exports {

/// By node: there is a way that goes down the tiers only once it does, as routing engines for trees have it.
std::vector<bool> SwitchWays::reached_from(NodeId start, const Links& out) const {
  // Bit 0: reached and may still go up. Bit 1: reached on the way down.
  constexpr std::uint8_t kUp = 1, kDown = 2;
  std::vector<std::uint8_t> how(fabric_.node_count(), 0);
  std::vector<std::pair<NodeId, std::uint8_t>> next{{start, kUp}};
  how[start.value()] = kUp;
  while (!next.empty()) {
    const auto [node, state] = next.back();
    next.pop_back();
    for (const ChannelId channel : fabric_.channels_from(node)) {
      if (!fabric_.between_switches(channel) || out[Fabric::link_of(channel).value()]) continue;
      const NodeId to = fabric_.target_node(channel);
      const bool goes_up = fabric_.node(to).tier > fabric_.node(node).tier;
      const bool goes_down = fabric_.node(to).tier < fabric_.node(node).tier;
      if (state == kDown && goes_up) continue;
      const std::uint8_t then = goes_down ? kDown : state;
      if (how[to.value()] & (then | kUp)) continue;  // who may still go up may go down too
      how[to.value()] |= then;
      next.emplace_back(to, then);
    }
  }
  std::vector<bool> reached(how.size());
  for (std::size_t n = 0; n < how.size(); ++n) reached[n] = how[n] != 0;
  return reached;
}

/// The switches whose ways a link may be on that are below it; on a link within a tier, all.
std::vector<NodeId> SwitchWays::kept_below(LinkId link) const {
  const NodeId a = fabric_.port(fabric_.link(link).a).node, b = fabric_.port(fabric_.link(link).b).node;
  const Tier of_a = fabric_.node(a).tier, of_b = fabric_.node(b).tier;
  std::vector<bool> below(fabric_.node_count(), of_a == of_b);
  if (of_a != of_b) {
    std::vector<NodeId> next{of_a < of_b ? a : b};
    below[next.front().value()] = true;
    while (!next.empty()) {
      const NodeId node = next.back();
      next.pop_back();
      for (const ChannelId channel : fabric_.channels_from(node)) {
        const NodeId to = fabric_.target_node(channel);
        if (below[to.value()] || fabric_.node(to).tier > fabric_.node(node).tier) continue;
        below[to.value()] = true;
        next.push_back(to);
      }
    }
  }
  std::vector<NodeId> kept;
  for (std::uint32_t n = 0; n < fabric_.node_count(); ++n)
    if (below[n] && kept_[n]) kept.emplace_back(n);
  return kept;
}

std::optional<std::pair<NodeId, NodeId>> SwitchWays::lost_without(LinkId link) const {
  Links without = out_;
  without[link.value()] = true;
  for (const NodeId node : kept_below(link)) {
    const auto before = reached_from(node, out_), after = reached_from(node, without);
    for (std::uint32_t n = 0; n < kept_.size(); ++n)
      if (kept_[n] && before[n] && !after[n]) return std::pair(node, NodeId(n));
  }
  return std::nullopt;
}

}  // namespace weft::exports
