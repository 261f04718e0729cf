#include "probes/plan/switch_hashes.hpp"

#include <algorithm>

#include "topology/model/fabric.hpp"

namespace weft::plan {

using routing::FlowBits;

std::optional<SwitchHashes::GroupIndex> SwitchHashes::group_at(NodeId at, NodeId goal) {
  const auto [known, is_new] =
      group_of_.try_emplace(std::uint64_t{at.value()} << 32 | goal.value(), std::nullopt);
  if (!is_new) return known->second;
  const auto next = ways_->to(goal).next(at);
  if (next.size() < 2) return std::nullopt;
  std::vector<ChannelId> hops(next.begin(), next.end());
  const auto [group, is_first] = index_.try_emplace({at, hops}, groups_.size());
  if (is_first)
    groups_.push_back({at, hops, HashLearner(static_cast<std::uint32_t>(hops.size()), confidence_)});
  return known->second = group->second;
}

void SwitchHashes::learn(const NicPair& pair, PathLabel label, std::span<const ChannelId> path,
                         std::size_t known) {
  const NodeId goal = routing::edge_switch(*fabric_, pair.dst);
  const auto src = addresses_->address_of(pair.src), dst = addresses_->address_of(pair.dst);
  if (!src || !dst) return;
  const FlowBits flow = FlowBits::of(*src, *dst, label);
  for (std::size_t i = 0; i + 1 < known; ++i) {
    const auto index = group_at(fabric_->target_node(path[i]), goal);
    if (!index) continue;
    Group& group = groups_[*index];
    const auto member = std::ranges::find(group.next_hops, path[i + 1]);
    if (member == group.next_hops.end()) {
      group.hash.give_up();
      continue;
    }
    const auto choice = static_cast<std::uint32_t>(member - group.next_hops.begin());
    group.hash.learn(flow, choice, path[i].value());
    if (!group.hash.taken_back() || !group.may_change) continue;
    group.may_change = false;
    ++changed_;
    group.hash = HashLearner(static_cast<std::uint32_t>(group.next_hops.size()), confidence_);
    group.hash.learn(flow, choice, path[i].value());
  }
}

void SwitchHashes::expect_changes() {
  for (Group& group : groups_) group.may_change = !group.hash.given_up();
  changed_ = 0;
}

SwitchHashes::Walk SwitchHashes::walk(const NicPair& pair, PathLabel label, bool by_checked) {
  Walk walk;
  walk.channels = {*fabric_->channel_from(pair.src)};
  const NodeId goal = routing::edge_switch(*fabric_, pair.dst);
  const auto src = addresses_->address_of(pair.src), dst = addresses_->address_of(pair.dst);
  if (!src || !dst) return walk;
  const FlowBits flow = FlowBits::of(*src, *dst, label);
  while (fabric_->target_node(walk.channels.back()) != goal) {
    const NodeId here = fabric_->target_node(walk.channels.back());
    const auto group = group_at(here, goal);
    if (!group) {
      const auto next = ways_->to(goal).next(here);
      if (next.empty()) return walk;
      walk.channels.push_back(next.front());
      continue;
    }
    walk.crossed.push_back(*group);
    const HashLearner& hash = groups_[*group].hash;
    const std::uint32_t ingress = walk.channels.back().value();
    auto told = hash.predict(flow, ingress);
    if (!told && !by_checked) {
      told = hash.suppose(flow, ingress);
      if (told && !walk.unchecked) walk.unchecked = group;
    }
    // By exclusion alone: as good as open, for whoever asks what to trace.
    const bool by_exclusion = told && !by_checked && !hash.has_seen(*told);
    if (!told || by_exclusion) {
      walk.open = group;
      return walk;
    }
    walk.confidence *= hash.confidence();
    walk.channels.push_back(groups_[*group].next_hops[*told]);
  }
  walk.channels.push_back(*fabric_->channel_into(pair.dst));
  walk.arrives = true;
  return walk;
}

std::vector<GroupState> SwitchHashes::groups() const {
  std::vector<GroupState> states;
  for (const Group& group : groups_) states.push_back({group.at, group.next_hops, &group.hash});
  return states;
}

std::size_t SwitchHashes::taken_back() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(groups_, [](const Group& group) { return group.hash.taken_back(); }));
}

}  // namespace weft::plan
