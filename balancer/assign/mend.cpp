#include "balancer/assign/mend.hpp"

#include <algorithm>

namespace weft::assign {
namespace {

/// Of the items on a channel, the least that is large enough to bring it within its room, or the greatest.
ItemId to_shed(const Placement& placement, ChannelId channel) {
  const Instance& instance = placement.instance();
  const double lacking = placement.lack(channel, 0);
  const auto& classes = placement.classes_on(channel);
  ItemId best = placement.first_of(classes.back());
  for (const ClassId alike : classes) {
    const ItemId item = placement.first_of(alike);
    const double bytes = instance.bytes_of(item);
    const double least = instance.bytes_of(best);
    if (least < lacking ? bytes > least : bytes >= lacking && bytes < least) best = item;
  }
  return best;
}

}  // namespace

std::vector<ItemId> put_wanted(Placement& placement, const std::vector<ItemId>& items,
                               const std::vector<SwitchRoute>& wanted) {
  std::vector<ItemId> loose;
  for (const ItemId item : items) {
    const auto& routes = placement.instance().routes_of(item);
    const auto at = std::ranges::find(routes, wanted[item]);
    if (at == routes.end()) {
      loose.push_back(item);
    } else {
      placement.put(item, static_cast<std::uint32_t>(at - routes.begin()));
    }
  }
  return loose;
}

std::vector<ItemId> shed(Placement& placement) {
  const Instance& instance = placement.instance();
  std::vector<ItemId> loose;
  for (std::uint32_t c = 0; c < instance.weight.size(); ++c)
    while (placement.over(ChannelId(c)) && !placement.classes_on(ChannelId(c)).empty()) {
      loose.push_back(to_shed(placement, ChannelId(c)));
      placement.take(loose.back());
    }
  std::ranges::stable_sort(loose, std::greater{}, [&](ItemId i) { return instance.bytes_of(i); });
  return loose;
}

std::vector<ItemId> mend(Chains& chains, const std::vector<ItemId>& loose, const Effort& effort) {
  const std::uint64_t last_step = chains.steps_taken() + effort.steps;
  std::vector<ItemId> left;
  for (const ItemId item : loose)
    if (chains.steps_taken() > last_step || !chains.place(item)) left.push_back(item);
  if (left.size() > effort.forced) return left;
  for (std::size_t forced = 0;
       !left.empty() && forced < effort.forced && chains.steps_taken() <= last_step;) {
    const ItemId item = left.back();
    left.pop_back();
    if (chains.place(item)) continue;
    chains.force(item, left);
    ++forced;
  }
  return left;
}

}  // namespace weft::assign
