#include <algorithm>

#include "balancer/assign/assign.hpp"

namespace weft {
namespace {

constexpr double kTiny = 1e-9;

double greatest(const std::vector<double>& load, std::span<const ChannelId> channels) {
  double most = 0;
  for (const ChannelId channel : channels) most = std::max(most, load[channel.value()]);
  return most;
}

}  // namespace

LoadReport load_report(const Fabric& fabric, const Capacities& capacities, const Routes& routes,
                       std::span<const SteeredQp> qps, const Bounds& bounds) {
  std::vector<double> load(fabric.channel_count());
  for (const SteeredQp& qp : qps)
    for (const ChannelId channel : qp.route.channels()) load[channel.value()] += qp.bytes;
  LoadReport report;
  for (std::uint32_t c = 0; c < load.size(); ++c) {
    if (load[c] <= 0) continue;
    load[c] *= capacities.reference().bits_per_second() / capacities[ChannelId(c)];
    if (load[c] <= report.busiest) continue;
    report.busiest = load[c];
    report.channel = ChannelId(c);
  }
  if (bounds.integral > 0) report.ratio = report.busiest / bounds.integral;
  for (std::uint32_t l = 0; l < routes.leaf_count() && l < bounds.leaf_out.size(); ++l)
    if (greatest(load, routes.uplinks(LeafId(l))) > bounds.leaf_out[l] * (1 + kTiny) ||
        greatest(load, routes.downlinks(LeafId(l))) > bounds.leaf_in[l] * (1 + kTiny))
      ++report.leaves_over_own_bound;
  return report;
}

}  // namespace weft
