#include "probes/engine/sim/sim_load.hpp"

#include <algorithm>
#include <cmath>

#include "probes/engine/sim/load_sharing.hpp"
#include "probes/engine/sim/random_stream.hpp"

namespace weft {
namespace {

constexpr std::uint64_t kLoadKey = 0x10AD;
/// Scatter of a share of a full queue: which packets it drops depends on how bursts meet.
constexpr double kShareScatter = 0.003;

/// Begin and end of each flow's path in one vector, and whether it arrives.
struct FlowPaths {
  std::vector<ChannelId> channels;
  std::vector<std::size_t> ends;
  std::vector<bool> arrives;

  std::span<const ChannelId> of(std::size_t flow) const {
    const std::size_t begin = flow == 0 ? 0 : ends[flow - 1];
    return std::span(channels).subspan(begin, ends[flow] - begin);
  }
};

FlowPaths find_paths(const SimWorld& world, std::span<const SimFlow> flows) {
  FlowPaths paths;
  std::vector<ChannelId> path;
  for (const auto& flow : flows) {
    paths.arrives.push_back(world.path_of(flow.from, flow.to, flow.label, path));
    paths.channels.insert(paths.channels.end(), path.begin(), path.end());
    paths.ends.push_back(paths.channels.size());
  }
  return paths;
}

SimReceipt deliver(const SimWorld& world, BatchId batch, const SimFlow& flow, std::span<const ChannelId> path,
                   double share) {
  RandomStream random({world.options().seed, kLoadKey, batch.value(), flow.from.value(), flow.spec,
                       flow.to.value(), flow.label.value()});
  const double scattered =
      share < 1 ? std::clamp(share * (1 + kShareScatter * random.normal()), 0.0, 1.0) : 1;
  const auto queued = static_cast<std::uint64_t>(std::llround(static_cast<double>(flow.packets) * scattered));
  const auto came = queued - random.binomial(queued, 1 - world.channels().survival(path, flow.size));
  const auto corrupt = random.binomial(came, world.channels().corruption(path));
  return {.from = flow.from,
          .to = flow.to,
          .spec = flow.spec,
          .packets = came - corrupt,
          .corrupt = corrupt,
          .size = flow.size,
          .span = flow.duration};
}

}  // namespace

SimFlows start_flows(const SimWorld& world, PortId from, const FlowRequest& request) {
  SimFlows started;
  const bool can_send = world.can_send(from);
  for (std::uint32_t index = 0; index < request.specs.size(); ++index) {
    const FlowSpec& spec = request.specs[index];
    const auto bits = spec.rate.bits_per_second() * std::chrono::duration<double>(request.duration).count();
    const auto packets =
        can_send ? static_cast<std::uint64_t>(bits / (8.0 * static_cast<double>(spec.size.count()))) : 0;
    if (packets == 0) {
      started.tallies.push_back({.spec = index});
      continue;
    }
    started.tallies.push_back({.spec = index,
                               .packets = packets,
                               .bytes = packets * static_cast<std::uint64_t>(spec.size.count()),
                               .elapsed = request.duration,
                               .longest_gap = request.duration / static_cast<std::int64_t>(packets)});
    if (spec.peer >= request.peers.size() || !spec.label) continue;
    if (const auto to = world.nic_at(request.peers[spec.peer].address))
      started.flows.push_back(
          {from, *to, index, *spec.label, spec.rate, spec.size, packets, request.duration});
  }
  return started;
}

std::vector<SimReceipt> simulate_load(const SimWorld& world, BatchId batch, std::span<const SimFlow> flows) {
  const FlowPaths paths = find_paths(world, flows);
  std::vector<OfferedFlow> offered;
  offered.reserve(flows.size());
  for (std::size_t i = 0; i < flows.size(); ++i) offered.push_back({paths.of(i), flows[i].rate});
  const auto shares = share_load(world.channels(), offered);
  std::vector<SimReceipt> receipts;
  for (std::size_t i = 0; i < flows.size(); ++i)
    if (paths.arrives[i]) receipts.push_back(deliver(world, batch, flows[i], paths.of(i), shares[i]));
  return receipts;
}

}  // namespace weft
