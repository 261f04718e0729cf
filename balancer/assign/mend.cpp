#include "balancer/assign/mend.hpp"

#include <algorithm>

#include "balancer/assign/rooms.hpp"

namespace weft {
namespace {

constexpr std::size_t kForcedBeforeRoomsRise = 200;

/// Of the items on a channel, the least that is large enough to bring it within its room, or the greatest.
ItemId to_shed(const Placement& placement, ChannelId channel) {
  const Instance& instance = placement.instance();
  const double lacking = placement.lack(channel, 0);
  const auto& items = placement.items_on(channel);
  ItemId best = items.back();
  for (const ItemId item : items) {
    const double bytes = instance.bytes_of(item);
    const double least = instance.bytes_of(best);
    if (least < lacking ? bytes > least : bytes >= lacking && bytes < least) best = item;
  }
  return best;
}

/// Places what chains can; answers the rest.
std::vector<ItemId> place_by_chains(Chains& chains, const std::vector<ItemId>& loose) {
  std::vector<ItemId> left;
  for (const ItemId item : loose)
    if (!chains.place(item)) left.push_back(item);
  return left;
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
    while (placement.over(ChannelId(c)) && !placement.items_on(ChannelId(c)).empty()) {
      loose.push_back(to_shed(placement, ChannelId(c)));
      placement.take(loose.back());
    }
  std::ranges::stable_sort(loose, std::greater{}, [&](ItemId i) { return instance.bytes_of(i); });
  return loose;
}

std::vector<ItemId> mend(Chains& chains, std::vector<ItemId> loose, std::size_t forced) {
  loose = place_by_chains(chains, loose);
  for (; !loose.empty() && forced > 0; --forced) {
    const ItemId item = loose.back();
    loose.pop_back();
    chains.force(item, loose);
    loose = place_by_chains(chains, loose);
  }
  return loose;
}

void place_all(Placement& placement, std::vector<ItemId> loose, double bytes, std::uint64_t seed) {
  Chains chains(placement, seed);
  loose = mend(chains, std::move(loose), kForcedBeforeRoomsRise);
  for (; !loose.empty(); bytes = next_rooms(placement.instance(), bytes)) {
    placement.set_room(rooms_of(placement.instance(), bytes));
    loose = mend(chains, std::move(loose), kForcedBeforeRoomsRise);
  }
}

}  // namespace weft
