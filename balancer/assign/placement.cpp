#include "balancer/assign/placement.hpp"

#include <algorithm>

#include "topology/base/check.hpp"

namespace weft {

Placement::Placement(const Instance& instance)
    : instance_(instance),
      tolerance_(instance.quantum * 1e-6),
      room_(instance.weight.size(), 0),
      load_(instance.weight.size(), 0),
      route_(instance.item_count(), kUnplaced),
      items_on_(instance.weight.size()),
      slot_(instance.item_count()) {}

bool Placement::has_room(const SwitchRoute& route, double bytes) const {
  for (const ChannelId channel : route.channels())
    if (lack(channel, bytes) > 0) return false;
  return true;
}

std::vector<SwitchRoute> Placement::routes() const {
  std::vector<SwitchRoute> taken;
  taken.reserve(route_.size());
  for (ItemId item = 0; item < route_.size(); ++item) taken.push_back(route(item));
  return taken;
}

void Placement::restore(const std::vector<std::uint32_t>& wanted) {
  for (ItemId item = 0; item < route_.size(); ++item)
    if (placed(item) && route_[item] != wanted[item]) take(item);
  for (ItemId item = 0; item < route_.size(); ++item)
    if (!placed(item) && wanted[item] != kUnplaced) put(item, wanted[item]);
}

void Placement::put(ItemId item, std::uint32_t route_index) {
  WEFT_CHECK(!placed(item));
  route_[item] = route_index;
  const auto channels = route(item).channels();
  for (std::size_t k = 0; k < channels.size(); ++k) {
    auto& items = items_on_[channels[k].value()];
    slot_[item][k] = static_cast<std::uint32_t>(items.size());
    items.push_back(item);
    load_[channels[k].value()] += instance_.bytes_of(item);
  }
}

void Placement::take(ItemId item) {
  const auto channels = route(item).channels();
  for (std::size_t k = 0; k < channels.size(); ++k) {
    const ChannelId channel = channels[k];
    auto& items = items_on_[channel.value()];
    load_[channel.value()] -= instance_.bytes_of(item);
    const std::uint32_t at = slot_[item][k];
    const ItemId last = items.back();
    items[at] = last;
    items.pop_back();
    if (last == item) continue;
    const auto others = route(last).channels();
    const auto which = std::ranges::find(others, channel) - others.begin();
    slot_[last][static_cast<std::size_t>(which)] = at;
  }
  route_[item] = kUnplaced;
}

}  // namespace weft
