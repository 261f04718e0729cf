#include "probes/engine/sim/sim_load.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "probes/engine/sim/channel_states.hpp"
#include "probes/engine/sim/random_stream.hpp"

namespace weft::sim {
namespace {

// share_load: what is left of flows that run at the same time. Each channel is a first-in-first-out queue
// that drops what it cannot carry, from every flow alike: paced flows that do not yield get shares in
// proportion to what arrives.

struct OfferedFlow {
  std::span<const ChannelId> path;
  Bandwidth rate;
};

/// A path's channels are settled one after the other, so in a fabric without loops as many rounds suffice as
/// the longest path has channels; the bound is for the others.
constexpr int kMaxRounds = 32;
constexpr double kSettled = 1e-9;

struct SharedLoad {
  std::vector<double> shares;    // of each flow, 0 to 1, what is not dropped for want of capacity
  std::vector<double> arriving;  // at each channel, bits per second of all flows
};

/// Loss faults are not counted, but the other traffic on a channel takes part.
SharedLoad share_load(const ChannelStates& channels, std::span<const OfferedFlow> flows) {
  std::vector<double> passed(channels.size(), 1.0);  // share that each channel lets through
  std::vector<double> arriving(channels.size());
  for (int round = 0; round < kMaxRounds; ++round) {
    std::ranges::fill(arriving, 0.0);
    for (const auto& flow : flows) {
      double rate = flow.rate.bits_per_second();
      for (const ChannelId channel : flow.path) {
        arriving[channel.value()] += rate;
        rate *= passed[channel.value()];
      }
    }
    double change = 0;
    for (std::uint32_t c = 0; c < channels.size(); ++c) {
      if (arriving[c] <= 0) continue;
      const auto& state = channels[ChannelId(c)];
      const double total = arriving[c] + state.load.bits_per_second();
      const double share = std::min(1.0, state.capacity.bits_per_second() / total);
      change = std::max(change, std::abs(share - passed[c]));
      passed[c] = share;
    }
    if (change < kSettled) break;
  }
  SharedLoad load{.shares = {}, .arriving = std::move(arriving)};
  load.shares.reserve(flows.size());
  for (const auto& flow : flows) {
    double share = 1;
    for (const ChannelId channel : flow.path) share *= passed[channel.value()];
    load.shares.push_back(share);
  }
  return load;
}

constexpr std::uint64_t kLoadKey = 0x10AD;
/// Scatter of a share of a full queue: which packets it drops depends on how bursts meet.
constexpr double kShareScatter = 0.003;
/// Faults that change more often than this in a round are averaged.
constexpr std::size_t kMaxPieces = 64;

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
    const auto number = mix_bits(static_cast<std::uint64_t>(flow.begin.count())) + flow.spec;
    paths.arrives.push_back(
        world.path_of(flow.from, flow.to, flow.label, path, {{.number = number}, flow.begin}));
    paths.channels.insert(paths.channels.end(), path.begin(), path.end());
    paths.ends.push_back(paths.channels.size());
  }
  return paths;
}

/// What gets through of one flow: of what it sends, what fits, and of that, what no fault takes.
struct Passage {
  double share = 1;
  double survival = 1;
};

std::vector<Passage> passages(const ChannelStates& channels, std::span<const OfferedFlow> offered,
                              std::span<const SimFlow> flows) {
  const auto shares = share_load(channels, offered).shares;
  std::vector<Passage> result;
  result.reserve(flows.size());
  for (std::size_t i = 0; i < flows.size(); ++i)
    result.push_back({shares[i], channels.survival(offered[i].path, flows[i].size)});
  return result;
}

/// Where a round is to be cut so that nothing changes in a piece; even pieces where it changes too often.
std::vector<Nanoseconds> cuts(const ChannelStates& channels, Nanoseconds begin, Nanoseconds end) {
  std::vector<Nanoseconds> at{begin};
  if (const auto changes = channels.changes(begin, end, kMaxPieces)) {
    at.insert(at.end(), changes->begin(), changes->end());
  } else {
    const auto pieces = static_cast<std::int64_t>(kMaxPieces);
    for (std::int64_t i = 1; i < pieces; ++i) at.push_back(begin + (end - begin) * i / pieces);
  }
  at.push_back(end);
  return at;
}

/// The mean over the round, piece by piece where faults come and go in it.
std::vector<Passage> mean_passages(const ChannelStates& channels, std::span<const OfferedFlow> offered,
                                   std::span<const SimFlow> flows) {
  if (!channels.varies() || flows.empty()) return passages(channels, offered, flows);
  Nanoseconds length(1);
  for (const SimFlow& flow : flows) length = std::max(length, flow.duration);
  const auto at = cuts(channels, flows.front().begin, flows.front().begin + length);
  std::vector<Passage> mean(flows.size(), Passage{0, 0});
  for (std::size_t piece = 0; piece + 1 < at.size(); ++piece) {
    const double weight = std::chrono::duration<double>(at[piece + 1] - at[piece]) / length;
    const auto now = passages(channels.snapshot(at[piece] + (at[piece + 1] - at[piece]) / 2), offered, flows);
    for (std::size_t i = 0; i < flows.size(); ++i) {
      mean[i].share += weight * now[i].share;
      mean[i].survival += weight * now[i].share * now[i].survival;
    }
  }
  for (Passage& each : mean) each.survival = each.share > 0 ? std::min(1.0, each.survival / each.share) : 0;
  return mean;
}

std::vector<OfferedFlow> offers(const FlowPaths& paths, std::span<const SimFlow> flows) {
  std::vector<OfferedFlow> offered;
  offered.reserve(flows.size());
  for (std::size_t i = 0; i < flows.size(); ++i) offered.push_back({paths.of(i), flows[i].rate});
  return offered;
}

SimReceipt deliver(const SimWorld& world, BatchId batch, const SimFlow& flow, std::span<const ChannelId> path,
                   const Passage& passage) {
  const double share = passage.share;
  RandomStream random({world.options().seed, kLoadKey, batch.value(), flow.from.value(), flow.spec,
                       flow.to.value(), flow.label.value()});
  const double scattered =
      share < 1 ? std::clamp(share * (1 + kShareScatter * random.normal()), 0.0, 1.0) : 1;
  const auto queued = static_cast<std::uint64_t>(std::llround(static_cast<double>(flow.packets) * scattered));
  const auto arrived = queued - random.binomial(queued, 1 - passage.survival);
  // What reaches a host that does not read stays in its sockets, and no more fits than these hold.
  const auto deaf = world.idle(flow.to, flow.begin, flow.duration).receiving;
  const auto dropped =
      static_cast<std::uint64_t>(static_cast<double>(arrived) * std::chrono::duration<double>(deaf).count() /
                                 std::chrono::duration<double>(flow.duration).count());
  const auto came = arrived - dropped;
  const auto corrupt = random.binomial(came, world.channels().corruption(path));
  return {.from = flow.from,
          .to = flow.to,
          .spec = flow.spec,
          .packets = came - corrupt,
          .corrupt = corrupt,
          .size = flow.size,
          .start = flow.begin,
          .span = flow.duration,
          .dropped = dropped};
}

}  // namespace

SimFlows start_flows(const SimWorld& world, PortId from, const datapath::FlowRequest& request,
                     Nanoseconds begin) {
  SimFlows started;
  const bool can_send = world.can_send(from);
  const Nanoseconds idle = world.idle(from, begin, request.duration).sending;
  for (std::uint32_t index = 0; index < request.specs.size(); ++index) {
    const datapath::FlowSpec& spec = request.specs[index];
    const auto bits =
        spec.rate.bits_per_second() * std::chrono::duration<double>(request.duration - idle).count();
    const auto packets =
        can_send ? static_cast<std::uint64_t>(bits / (8.0 * static_cast<double>(spec.size.count()))) : 0;
    if (packets == 0) {
      started.tallies.push_back({.spec = index});
      continue;
    }
    started.tallies.push_back(
        {.spec = index,
         .packets = packets,
         .bytes = packets * static_cast<std::uint64_t>(spec.size.count()),
         .elapsed = request.duration,
         .longest_gap = std::max(idle, request.duration / static_cast<std::int64_t>(packets)),
         .started = begin});
    if (spec.peer >= request.peers.size() || !spec.label) continue;
    if (const auto to = world.nic_at(request.peers[spec.peer].address))
      started.flows.push_back(
          {from, *to, index, *spec.label, spec.rate, spec.size, packets, begin, request.duration});
  }
  return started;
}

std::vector<SimReceipt> simulate_load(const SimWorld& world, BatchId batch, std::span<const SimFlow> flows) {
  const FlowPaths paths = find_paths(world, flows);
  const auto offered = offers(paths, flows);
  const auto shares = mean_passages(world.channels(), offered, flows);
  std::vector<SimReceipt> receipts;
  for (std::size_t i = 0; i < flows.size(); ++i)
    if (paths.arrives[i]) receipts.push_back(deliver(world, batch, flows[i], paths.of(i), shares[i]));
  return receipts;
}

ChannelStates channels_under(const SimWorld& world, std::span<const SimFlow> flows) {
  if (flows.empty()) return world.channels();
  const Nanoseconds at = flows.front().begin + flows.front().duration / 2;
  const FlowPaths paths = find_paths(world, flows);
  return world.channels().under(share_load(world.channels().snapshot(at), offers(paths, flows)).arriving, at);
}

}  // namespace weft::sim
