#include "balancer/assign/placement.hpp"

#include <algorithm>
#include <map>

#include "topology/base/check.hpp"

namespace weft::assign {

Placement::Placement(const Instance& instance)
    : instance_(instance),
      tolerance_(instance.quantum * 1e-6),
      room_(instance.weight.size(), 0),
      load_(instance.weight.size(), 0),
      route_(instance.item_count(), kUnplaced),
      next_(instance.item_count()),
      before_(instance.item_count()),
      classes_on_(instance.weight.size()) {
  find_kinds();
}

void Placement::find_kinds() {
  std::map<std::pair<std::uint32_t, double>, std::uint32_t> kinds;
  std::uint32_t classes = 0;
  kind_of_.reserve(instance_.crossings.size());
  std::vector<std::uint32_t> kind_of_group(instance_.groups.size(), kUnplaced);  // where all are equal
  for (const CrossingFlow& crossing : instance_.crossings) {
    std::uint32_t& kind = instance_.equal
                              ? kind_of_group[crossing.group]
                              : kinds.try_emplace({crossing.group, crossing.bytes}, kUnplaced).first->second;
    if (kind == kUnplaced) {
      kind = static_cast<std::uint32_t>(first_class_.size());
      first_class_.push_back(classes);
      classes += static_cast<std::uint32_t>(instance_.groups[crossing.group].routes.size());
    }
    kind_of_.push_back(kind);
  }
  first_.assign(classes, kUnplaced);
  size_.assign(classes, 0);
  slot_.resize(classes);
}

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

void Placement::list(ClassId one, const SwitchRoute& route) {
  for (std::size_t k = 0; k < route.size(); ++k) {
    auto& classes = classes_on_[route.channels()[k].value()];
    slot_[one][k] = static_cast<std::uint32_t>(classes.size());
    classes.push_back(one);
  }
}

void Placement::unlist(ClassId one, const SwitchRoute& route) {
  for (std::size_t k = 0; k < route.size(); ++k) {
    const ChannelId channel = route.channels()[k];
    auto& classes = classes_on_[channel.value()];
    const ClassId last = classes.back();
    classes[slot_[one][k]] = last;
    classes.pop_back();
    if (last == one) continue;
    const auto others = this->route(first_of(last)).channels();
    const auto which = std::ranges::find(others, channel) - others.begin();
    slot_[last][static_cast<std::size_t>(which)] = slot_[one][k];
  }
}

void Placement::put(ItemId item, std::uint32_t route_index) {
  WEFT_CHECK(!placed(item));
  route_[item] = route_index;
  const SwitchRoute& taken = route(item);
  for (const ChannelId channel : taken.channels()) load_[channel.value()] += instance_.bytes_of(item);
  const ClassId own = class_of(item, route_index);
  ++size_[own];
  ItemId& first = first_[own];
  if (first == kUnplaced) {
    first = next_[item] = before_[item] = item;
    list(own, taken);
    return;
  }
  before_[item] = before_[first];
  next_[item] = first;
  next_[before_[item]] = before_[first] = item;
}

void Placement::take(ItemId item) {
  const SwitchRoute& taken = route(item);
  const ClassId own = class_of(item, route_[item]);
  for (const ChannelId channel : taken.channels()) load_[channel.value()] -= instance_.bytes_of(item);
  --size_[own];
  if (next_[item] == item) {
    unlist(own, taken);
    first_[own] = kUnplaced;
  } else {
    next_[before_[item]] = next_[item];
    before_[next_[item]] = before_[item];
    if (first_[own] == item) first_[own] = next_[item];
  }
  route_[item] = kUnplaced;
}

}  // namespace weft::assign
