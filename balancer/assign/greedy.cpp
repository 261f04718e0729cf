#include "balancer/assign/greedy.hpp"

#include <algorithm>
#include <numeric>

namespace weft::assign {

std::vector<ItemId> by_size(const Instance& instance) {
  std::vector<ItemId> items(instance.item_count());
  std::iota(items.begin(), items.end(), 0U);
  std::ranges::stable_sort(items, std::greater{}, [&](ItemId i) { return instance.bytes_of(i); });
  return items;
}

void place_least_loaded(Placement& placement, ItemId item) {
  const Instance& instance = placement.instance();
  const auto& routes = instance.routes_of(item);
  const double bytes = instance.bytes_of(item);
  const auto cost = [&](const SwitchRoute& route) {
    double most = 0;
    double sum = 0;
    for (const ChannelId c : route.channels()) {
      const double load = (placement.load(c) + bytes) / instance.weight[c.value()];
      most = std::max(most, load);
      sum += load;
    }
    return std::pair(most, sum);
  };
  std::uint32_t best = 0;
  auto least = cost(routes[0]);
  for (std::uint32_t r = 1; r < routes.size(); ++r)
    if (const auto each = cost(routes[r]); each < least) least = each, best = r;
  placement.put(item, best);
}

std::vector<SwitchRoute> solve_greedy(Instance& instance, const Routes& routes) {
  instance.fill_routes(routes);
  Placement placement(instance);
  for (const ItemId item : by_size(instance)) place_least_loaded(placement, item);
  return placement.routes();
}

}  // namespace weft::assign
