#include "balancer/assign/capacities.hpp"

#include <algorithm>

#include "topology/base/check.hpp"
#include "topology/model/fabric.hpp"

namespace weft::assign {
namespace {

Bandwidth greatest_rate(const Fabric& fabric) {
  Bandwidth between_switches;
  Bandwidth any;
  for (std::uint32_t l = 0; l < fabric.link_count(); ++l) {
    const Bandwidth rate = fabric.link(LinkId(l)).rate;
    any = std::max(any, rate);
    if (fabric.between_switches(LinkId(l))) between_switches = std::max(between_switches, rate);
  }
  return between_switches > Bandwidth() ? between_switches : any;
}

}  // namespace

Capacities::Capacities(const Fabric& fabric) : Capacities(fabric, {}) {}

Capacities::Capacities(const Fabric& fabric, std::span<const Avoided> avoided)
    : reference_(greatest_rate(fabric)) {
  bits_per_second_.reserve(fabric.channel_count());
  for (std::uint32_t c = 0; c < fabric.channel_count(); ++c)
    bits_per_second_.push_back(fabric.rate(ChannelId(c)).bits_per_second());
  for (const Avoided& entry : avoided) {
    WEFT_CHECK(entry.channel.value() < bits_per_second_.size());
    const double left = fabric.rate(entry.channel).bits_per_second() * std::clamp(entry.share, 0.0, 1.0);
    auto& capacity = bits_per_second_[entry.channel.value()];
    capacity = std::min(capacity, left);
  }
}

std::vector<Avoided> without(std::span<const LinkId> links) {
  std::vector<Avoided> avoided;
  for (const LinkId link : links) {
    avoided.push_back({Fabric::a_to_b(link)});
    avoided.push_back({Fabric::b_to_a(link)});
  }
  return avoided;
}

}  // namespace weft::assign
