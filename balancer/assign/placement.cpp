#include "balancer/assign/placement.hpp"

#include <algorithm>

#include "topology/base/check.hpp"

namespace weft {

Placement::Placement(const Instance& instance)
    : instance_(instance),
      room_(instance.weight.size(), 0),
      route_(instance.item_count(), kUnplaced),
      items_on_(instance.weight.size()),
      slot_(instance.item_count()) {}

bool Placement::has_room(const Route& route) const {
  for (const ChannelId channel : route.channels())
    if (full(channel)) return false;
  return true;
}

std::int64_t Placement::excess() const {
  std::int64_t sum = 0;
  for (std::uint32_t c = 0; c < room_.size(); ++c) sum += std::max(0, load(ChannelId(c)) - room_[c]);
  return sum;
}

void Placement::put(ItemId item, std::uint32_t route_index) {
  WEFT_CHECK(!placed(item));
  route_[item] = route_index;
  const auto channels = route(item).channels();
  for (std::size_t k = 0; k < channels.size(); ++k) {
    auto& items = items_on_[channels[k].value()];
    slot_[item][k] = static_cast<std::uint32_t>(items.size());
    items.push_back(item);
  }
}

void Placement::take(ItemId item) {
  const auto channels = route(item).channels();
  for (std::size_t k = 0; k < channels.size(); ++k) {
    const ChannelId channel = channels[k];
    auto& items = items_on_[channel.value()];
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
