#include "balancer/assign/rooms.hpp"

#include <algorithm>
#include <cmath>

namespace weft::assign {
namespace {

constexpr double kTiny = 1e-9;
constexpr double kStepWhereItemsDiffer = 1.01;

double whole_items(double bytes, double weight, double quantum) {
  return std::floor(bytes / quantum * weight * (1 + kTiny) + kTiny);
}

double room_for(const Instance& instance, double bytes, double weight) {
  if (!instance.equal) return bytes * weight;
  return whole_items(bytes, weight, instance.quantum) * instance.quantum;
}

}  // namespace

std::vector<double> rooms_of(const Instance& instance, double bytes) {
  std::vector<double> room;
  room.reserve(instance.weight.size());
  for (const double w : instance.weight) room.push_back(room_for(instance, bytes, w));
  return room;
}

std::vector<double> rooms_by_leaf(const Instance& instance, const Routes& routes, const Bounds& bounds) {
  auto room = rooms_of(instance, bounds.integral);
  for (std::uint32_t l = 0; l < routes.leaf_count(); ++l) {
    for (const ChannelId c : routes.uplinks(LeafId(l)))
      room[c.value()] = room_for(instance, bounds.leaf_out[l], instance.weight[c.value()]);
    for (const ChannelId c : routes.downlinks(LeafId(l)))
      room[c.value()] = room_for(instance, bounds.leaf_in[l], instance.weight[c.value()]);
  }
  return room;
}

double next_rooms(const Instance& instance, double bytes) {
  if (!instance.equal) return bytes * kStepWhereItemsDiffer;
  double next = bytes * 2 + instance.quantum;
  for (const double w : instance.weight)
    if (w > 0) next = std::min(next, (whole_items(bytes, w, instance.quantum) + 1) * instance.quantum / w);
  return next;
}

}  // namespace weft::assign
