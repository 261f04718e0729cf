#include "topology/routing/adaptive_routes.hpp"

#include <algorithm>

#include "topology/model/fabric.hpp"

namespace weft::routing {
namespace {

constexpr std::size_t kMaxSteps = 64 * kMaxPathsOfLabel;  // also where ways end nowhere

}  // namespace

struct AdaptiveRoutes::Search {
  PortId goal;
  Lid lid;
  ShortestPaths& ways;  // towards the goal's switch
  LabelPaths& found;
  std::vector<ChannelId> way = {};
  std::size_t steps = 0;
};

LabelPaths AdaptiveRoutes::walk(PortId source, Lid lid) {
  const LidRoute route = tables_->walk(source, lid);
  LabelPaths found{.end = route.end};
  if (route.end != RouteEnd::arrived) return found;
  const auto goal = tables_->nic_of(lid);
  const auto first = tables_->index_of(edge_switch(*fabric_, source));
  if (!goal || *goal == source || !first) {  // a switch's own LID, our own, or cable to cable
    found.paths.emplace_back(route.path().begin(), route.path().end());
    return found;
  }
  Search search{.goal = *goal, .lid = lid, .ways = ways_.to(edge_switch(*fabric_, *goal)), .found = found};
  descend(search, {route.path().front().value(), static_cast<std::int32_t>(*first)});
  if (found.too_many) found.paths.clear();
  return found;
}

/// Whether the way, but for its last channel, has entered that switch before: a loop is no way.
bool AdaptiveRoutes::came_through(std::span<const ChannelId> way, NodeId node) const {
  return std::ranges::any_of(way.first(way.size() - 1),
                             [&](ChannelId channel) { return fabric_->target_node(channel) == node; });
}

void AdaptiveRoutes::descend(Search& search, ForwardingTables::Behind next) {
  LabelPaths& found = search.found;
  found.too_many = found.too_many || ++search.steps > kMaxSteps;
  if (found.too_many || next.to == ForwardingTables::kNowhere || search.way.size() == kMaxHops) return;
  search.way.push_back(ChannelId(next.channel));
  if (next.to == ForwardingTables::host_end(search.goal)) {
    found.too_many = found.paths.size() == kMaxPathsOfLabel;
    if (!found.too_many) found.paths.push_back(search.way);
  } else if (next.to >= 0 &&
             !came_through(search.way, tables_->switch_at(static_cast<std::size_t>(next.to)))) {
    const auto at = static_cast<std::size_t>(next.to);
    const std::uint8_t out = tables_->entry(at, search.lid);
    const bool has_entry = out != ForwardingTables::kNone && out != 0;
    const auto entry = has_entry ? tables_->behind(at, out) : ForwardingTables::Behind{};
    descend(search, entry);
    if (tables_->adaptive(at) == AdaptiveRouting::on)
      for (const ChannelId channel : search.ways.next(tables_->switch_at(at)))
        if (entry.to == ForwardingTables::kNowhere || channel.value() != entry.channel)
          descend(search, {channel.value(),
                           static_cast<std::int32_t>(*tables_->index_of(fabric_->target_node(channel)))});
  }
  search.way.pop_back();
}

}  // namespace weft::routing
