#include "probes/engine/sim/sim_ping.hpp"

#include <algorithm>
#include <cmath>

#include "probes/engine/sim/sim_row.hpp"

namespace weft {
namespace {

constexpr std::uint64_t kPingKey = 0x9146;
constexpr std::uint64_t kOrderKey = 0x04DE4;

class PingSimulation {
 public:
  PingSimulation(const SimWorld& world, PortId from, const PingRequest& request, Nanoseconds begin)
      : world_(world), from_(from), request_(request), schedule_(request, begin), rows_(world) {
    for (const Peer& peer : request.peers) nics_.push_back(world.nic_at(peer.address));
  }

  void add(std::uint32_t index, SimPingResult& result) {
    const PingSpec& spec = request_.specs[index];
    if (!world_.can_send(from_)) return result.tallies.push_back({.spec = index});
    PingTally tally{.spec = index, .sent = spec.count, .window = schedule_.window(index)};
    if (const auto to = spec.peer < nics_.size() ? nics_[spec.peer] : std::nullopt; to)
      add_row(index, *to, tally, result);
    else if (spec.count > 0)
      tally.unanswered = {{0, spec.count}};
    result.tallies.push_back(std::move(tally));
  }

 private:
  void add_row(std::uint32_t index, PortId to, PingTally& tally, SimPingResult& result) {
    const PingSpec& spec = request_.specs[index];
    const auto key = [&](std::uint64_t purpose) {
      return RandomStream({world_.options().seed, purpose, request_.batch.value(), from_.value(), index,
                           to.value(), spec.label.value()});
    };
    RandomStream random = key(kPingKey);
    const bool arrives = world_.path_of(from_, to, spec.label, forward_);
    const bool returns = world_.path_of(to, from_, spec.back_label, backward_);
    RowOutcome row = rows_.run({.from = from_,
                                .to = to,
                                .there = forward_,
                                .back = backward_,
                                .arrives = arrives,
                                .returns = returns,
                                .size = spec.size,
                                .count = spec.count,
                                .window = *tally.window},
                               random, key(kOrderKey));
    tally.answered = row.of(Fate::answered);
    tally.corrupt = row.of(Fate::corrupt_back);
    if (tally.answered > 0) tally.rtt = quantiles(row, random);
    result.dropped += row.of(Fate::dropped_back);
    SimReceipt receipt{.from = from_,
                       .to = to,
                       .spec = index,
                       .packets = spec.count - row.of(Fate::lost_there) - row.of(Fate::dropped_there) -
                                  row.of(Fate::corrupt_there),
                       .corrupt = row.of(Fate::corrupt_there),
                       .size = spec.size,
                       .start = tally.window->start,
                       .span = tally.window->length,
                       .missing = std::move(row.missing),
                       .dropped = row.of(Fate::dropped_there)};
    if (receipt.packets + receipt.corrupt + receipt.dropped > 0)
      result.receipts.push_back(std::move(receipt));
    tally.unanswered = std::move(row.unanswered);
  }

  /// Waits are taken as exponential; a sample of n gives quantiles that scatter about the true ones with the
  /// standard deviation sqrt(q(1-q)/n) / density (order statistics, Mosteller 1946).
  RttQuantiles quantiles(const RowOutcome& row, RandomStream& random) const {
    const auto mean =
        std::chrono::duration<double, std::nano>(SimWorld::jitter(forward_.size() + backward_.size()));
    const auto answered = row.of(Fate::answered);
    const double root = std::sqrt(static_cast<double>(answered));
    const auto wait = [&](double q) {
      const double scattered = -std::log1p(-q) + random.normal() * std::sqrt(q / (1 - q)) / root;
      return std::chrono::duration_cast<Nanoseconds>(mean * std::max(0.0, scattered));
    };
    const auto p50 = row.fixed_p50 + wait(0.5);
    return {.p50 = p50, .p99 = answered == 1 ? p50 : std::max(p50, row.fixed_p99 + wait(0.99))};
  }

  const SimWorld& world_;
  PortId from_;
  const PingRequest& request_;
  PingSchedule schedule_;
  RowSimulation rows_;
  std::vector<std::optional<PortId>> nics_;  // of the request's peers
  std::vector<ChannelId> forward_;           // scratch
  std::vector<ChannelId> backward_;
};

}  // namespace

SimPingResult simulate_ping(const SimWorld& world, PortId from, const PingRequest& request, Nanoseconds begin,
                            std::stop_token stop) {
  SimPingResult result;
  result.tallies.reserve(request.specs.size());
  result.receipts.reserve(request.specs.size());
  PingSimulation simulation(world, from, request, begin);
  for (std::uint32_t index = 0; index < request.specs.size() && !stop.stop_requested(); ++index)
    simulation.add(index, result);
  for (PingTally& tally : result.tallies) tally.dropped = result.dropped;
  return result;
}

}  // namespace weft
