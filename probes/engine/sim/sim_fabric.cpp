#include "probes/engine/sim/sim_fabric.hpp"

#include <algorithm>
#include <stop_token>
#include <unordered_map>
#include <vector>

#include "probes/datapath/probe_engine.hpp"
#include "probes/engine/sim/random_stream.hpp"
#include "probes/engine/sim/sim_ping.hpp"
#include "probes/engine/sim/sim_schedule.hpp"
#include "probes/engine/sim/sim_world.hpp"
#include "topology/base/check.hpp"
#include "topology/model/fabric.hpp"

namespace weft::sim {
namespace {

// simulate_trace: which hops answer TTL-limited probes.

constexpr std::uint64_t kTraceKey = 0x77ACE;
constexpr Bytes kProbe(128);
constexpr PathLabel kIcmp(0);  // answers carry no label of their own: a switch's all take one path per NIC

class TraceSimulation {
 public:
  TraceSimulation(const SimWorld& world, PortId from, const datapath::TraceRequest& request,
                  Nanoseconds begin)
      : world_(world), from_(from), request_(request), begin_(begin) {
    for (const datapath::Peer& peer : request.peers) nics_.push_back(world.nic_at(peer.address));
    count_askings();
  }

  void add(std::uint32_t index, std::vector<datapath::HopAnswer>& answers) {
    const datapath::TraceSpec& spec = request_.specs[index];
    const auto to = nic_of(spec);
    if (!to || !world_.can_send(from_)) return;
    const bool arrives = world_.path_of(from_, *to, spec.label, forward_);
    RandomStream random({world_.options().seed, kTraceKey, request_.batch.value(), from_.value(), index,
                         to->value(), spec.label.value()});
    for (std::size_t hop = spec.first_hop; hop <= std::min<std::size_t>(spec.max_hops, forward_.size());
         ++hop) {
      const bool is_peer = arrives && hop == forward_.size();
      const auto address =
          is_peer ? request_.peers[spec.peer].address : world_.answering_address(forward_[hop - 1]);
      if (!address) continue;
      if (const auto rtt = ask(index, hop, is_peer, *to, random))
        answers.push_back({index, static_cast<std::uint8_t>(hop), is_peer, *address, *rtt});
    }
  }

 private:
  std::optional<PortId> nic_of(const datapath::TraceSpec& spec) const {
    return spec.peer < nics_.size() ? nics_[spec.peer] : std::nullopt;
  }

  /// How often this request asks each switch per second, at its pace.
  void count_askings() {
    if (!world_.options().answers_per_second) return;
    double probes = 0;
    for (const auto& spec : request_.specs) {
      const auto to = nic_of(spec);
      probes += spec.hops();
      if (!to) continue;
      world_.path_of(from_, *to, spec.label, forward_);
      for (std::size_t hop = spec.first_hop; hop <= std::min<std::size_t>(spec.max_hops, forward_.size());
           ++hop)
        askings_[world_.fabric().target_node(forward_[hop - 1])] += 1;
    }
    for (auto& [node, count] : askings_) count *= request_.pace.packets_per_second / std::max(probes, 1.0);
  }

  /// The share of askings that a switch's policer lets it answer.
  double answered_share(NodeId node) const {
    const auto asked = askings_.find(node);
    if (asked == askings_.end() || world_.fabric().is_host(node)) return 1;
    return std::min(1.0, *world_.options().answers_per_second / asked->second);
  }

  double kept_share(NodeId node) const {
    return world_.fabric().is_host(node) ? 1 : 1 - world_.options().answers_lost.value();
  }

  /// The round trip to a hop; absent: none of the attempts was answered.
  std::optional<Nanoseconds> ask(std::uint32_t index, std::size_t hop, bool is_peer, PortId to,
                                 RandomStream& random) {
    const datapath::TraceSpec& spec = request_.specs[index];
    const auto there = std::span(forward_).first(hop);
    const NodeId node = world_.fabric().target_node(there.back());
    const bool has_way = is_peer ? world_.path_of(to, from_, spec.label, backward_)
                                 : world_.routing().path_from(node, from_, kIcmp, backward_);
    if (!has_way) return std::nullopt;
    for (int attempt = 0; attempt < request_.attempts; ++attempt) {
      const Look look = look_at(there, index, hop, attempt);
      if (random.uniform() < look.survival * answered_share(node) * kept_share(node)) {
        const auto wait = SimWorld::jitter(hop + backward_.size()) * random.exponential();
        return look.latency + std::chrono::duration_cast<Nanoseconds>(wait);
      }
    }
    return std::nullopt;
  }

  /// The way to a hop and back when an attempt is sent.
  struct Look {
    double survival = 0;
    Nanoseconds latency{};
  };
  Look look_at(std::span<const ChannelId> there, std::uint32_t index, std::size_t hop, int attempt) {
    const auto& channels = world_.channels();
    if (!channels.varies(there) && !channels.varies(backward_))
      return {channels.probe_survival(there, kProbe) * channels.probe_survival(backward_, kProbe),
              world_.latency(there, kProbe) + world_.latency(backward_, kProbe)};
    const auto before = static_cast<std::int64_t>(index) * request_.specs[index].hops() +
                        static_cast<std::int64_t>(hop) - request_.specs[index].first_hop;
    const auto at =
        begin_ + length_of(request_) * attempt / request_.attempts + interval_of(request_.pace) * before;
    Look look{.survival = 1};
    for (const auto path : {there, std::span<const ChannelId>(backward_)}) {
      states_.clear();
      channels.look(path, at, states_);
      look.survival *= probe_survival(states_, kProbe);
      for (const LossInRuns& loss : channels.runs_lost(path, at)) look.survival *= 1 - loss.share;
      look.latency += SimWorld::latency(states_, kProbe);
    }
    return look;
  }

  const SimWorld& world_;
  PortId from_;
  const datapath::TraceRequest& request_;
  Nanoseconds begin_;
  std::vector<std::optional<PortId>> nics_;  // of the request's peers
  std::unordered_map<NodeId, double> askings_;
  std::vector<ChannelId> forward_;  // scratch
  std::vector<ChannelId> backward_;
  std::vector<ChannelState> states_;
};

/// The request begins at `begin` on the simulator's clock.
std::vector<datapath::HopAnswer> simulate_trace(const SimWorld& world, PortId from,
                                                const datapath::TraceRequest& request, Nanoseconds begin,
                                                std::stop_token stop) {
  std::vector<datapath::HopAnswer> answers;
  TraceSimulation simulation(world, from, request, begin);
  for (std::uint32_t index = 0; index < request.specs.size() && !stop.stop_requested(); ++index)
    simulation.add(index, answers);
  return answers;
}

}  // namespace

std::shared_ptr<SimFabric> SimFabric::make(const Fabric& fabric, const AddressBook& addresses,
                                           const SimOptions& options) {
  return std::shared_ptr<SimFabric>(new SimFabric(fabric, addresses, options));
}

Nanoseconds SimFabric::begin(BatchId batch, Nanoseconds length) {
  const std::lock_guard lock(mutex_);
  return ledger_.begin(batch, length);
}

std::shared_ptr<SimNic> SimFabric::engine(PortId nic) {
  WEFT_CHECK(world_.fabric().is_host(world_.fabric().port(nic).node) && world_.fabric().port(nic).link);
  return std::make_shared<SimNic>(shared_from_this(), nic);
}

Result<std::vector<datapath::HopAnswer>> SimNic::trace(const datapath::TraceRequest& request,
                                                       std::stop_token stop) {
  const Nanoseconds begin = fabric_->begin(request.batch, length_of(request));
  return simulate_trace(fabric_->world_, nic_, request, begin, std::move(stop));
}

Result<std::vector<datapath::PingTally>> SimNic::ping(const datapath::PingRequest& request,
                                                      std::stop_token stop) {
  const Nanoseconds begin = fabric_->begin(request.batch, length_of(request));
  auto result = simulate_ping(fabric_->world_, nic_, request, begin, std::move(stop));
  const std::lock_guard lock(fabric_->mutex_);
  fabric_->ledger_.add(request.batch, std::move(result.receipts));
  return std::move(result.tallies);
}

Result<std::vector<datapath::ReceivedTally>> SimNic::received(BatchId batch) {
  const std::lock_guard lock(fabric_->mutex_);
  return fabric_->ledger_.received(batch, nic_);
}

Result<std::vector<datapath::FlowTally>> SimNic::run(const datapath::FlowRequest& request, std::stop_token) {
  const Nanoseconds begin = fabric_->begin(request.batch, request.duration);
  auto started = start_flows(fabric_->world_, nic_, request, begin);
  const std::lock_guard lock(fabric_->mutex_);
  fabric_->ledger_.add(request.batch, std::move(started.flows));
  return std::move(started.tallies);
}

}  // namespace weft::sim
