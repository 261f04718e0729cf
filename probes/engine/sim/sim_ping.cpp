#include "probes/engine/sim/sim_ping.hpp"

#include <algorithm>
#include <cmath>

#include "probes/engine/sim/random_stream.hpp"

namespace weft {
namespace {

constexpr std::uint64_t kPingKey = 0x9146;

/// Packets of one direction: how many came, how many of these were changed on the way.
struct Passage {
  std::uint64_t good = 0;
  std::uint64_t corrupt = 0;
};

class PingSimulation {
 public:
  PingSimulation(const SimWorld& world, PortId from, const PingRequest& request)
      : world_(world), from_(from), request_(request) {
    for (const Peer& peer : request.peers) nics_.push_back(world.nic_at(peer.address));
  }

  void add(std::uint32_t index, SimPingResult& result) {
    const PingSpec& spec = request_.specs[index];
    if (!world_.can_send(from_)) return result.tallies.push_back({.spec = index});
    PingTally tally{.spec = index, .sent = spec.count};
    if (const auto to = spec.peer < nics_.size() ? nics_[spec.peer] : std::nullopt; to) {
      RandomStream random({world_.options().seed, kPingKey, request_.batch.value(), from_.value(), index,
                           to->value(), spec.label.value()});
      const auto there = pass(from_, *to, spec.label, spec.count, spec.size, forward_, random);
      if (there.good + there.corrupt > 0) result.receipts.push_back(receipt(index, *to, there));
      // A responder answers what it can read.
      const auto back = pass(*to, from_, spec.back_label, there.good, spec.size, backward_, random);
      tally.answered = static_cast<std::uint32_t>(back.good);
      tally.corrupt = static_cast<std::uint32_t>(back.corrupt);
      if (tally.answered > 0) tally.rtt = quantiles(spec.size, tally.answered, random);
    }
    result.tallies.push_back(tally);
  }

 private:
  Passage pass(PortId src, PortId dst, PathLabel label, std::uint64_t packets, Bytes size,
               std::vector<ChannelId>& path, RandomStream& random) const {
    if (packets == 0 || !world_.path_of(src, dst, label, path)) return {};
    const auto came = packets - random.binomial(packets, 1 - world_.channels().probe_survival(path, size));
    const auto corrupt = random.binomial(came, world_.channels().corruption(path));
    return {came - corrupt, corrupt};
  }

  SimReceipt receipt(std::uint32_t index, PortId to, const Passage& there) const {
    const double seconds =
        static_cast<double>(request_.specs[index].count) / request_.pace.packets_per_second;
    return {.from = from_,
            .to = to,
            .spec = index,
            .packets = there.good,
            .corrupt = there.corrupt,
            .size = request_.specs[index].size,
            .span = std::chrono::duration_cast<Nanoseconds>(std::chrono::duration<double>(seconds))};
  }

  /// Waits are taken as exponential; a sample of n gives quantiles that scatter about the true ones with the
  /// standard deviation sqrt(q(1-q)/n) / density (order statistics, Mosteller 1946).
  RttQuantiles quantiles(Bytes size, std::uint32_t answered, RandomStream& random) const {
    const auto fixed = world_.latency(forward_, size) + world_.latency(backward_, size);
    const auto mean =
        std::chrono::duration<double, std::nano>(SimWorld::jitter(forward_.size() + backward_.size()));
    const double root = std::sqrt(static_cast<double>(answered));
    const auto quantile = [&](double q) {
      const double scattered = -std::log1p(-q) + random.normal() * std::sqrt(q / (1 - q)) / root;
      return fixed + std::chrono::duration_cast<Nanoseconds>(mean * std::max(0.0, scattered));
    };
    const auto p50 = quantile(0.5);
    return {.p50 = p50, .p99 = answered == 1 ? p50 : std::max(p50, quantile(0.99))};
  }

  const SimWorld& world_;
  PortId from_;
  const PingRequest& request_;
  std::vector<std::optional<PortId>> nics_;  // of the request's peers
  std::vector<ChannelId> forward_;           // scratch
  std::vector<ChannelId> backward_;
};

}  // namespace

SimPingResult simulate_ping(const SimWorld& world, PortId from, const PingRequest& request,
                            std::stop_token stop) {
  SimPingResult result;
  result.tallies.reserve(request.specs.size());
  result.receipts.reserve(request.specs.size());
  PingSimulation simulation(world, from, request);
  for (std::uint32_t index = 0; index < request.specs.size() && !stop.stop_requested(); ++index)
    simulation.add(index, result);
  return result;
}

}  // namespace weft
