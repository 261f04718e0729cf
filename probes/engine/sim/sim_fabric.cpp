#include "probes/engine/sim/sim_fabric.hpp"

#include <algorithm>
#include <iterator>
#include <stop_token>
#include <unordered_map>
#include <vector>

#include "probes/datapath/probe_engine.hpp"
#include "probes/engine/sim/random_stream.hpp"
#include "probes/engine/sim/sim_ping.hpp"
#include "probes/engine/sim/sim_schedule.hpp"
#include "probes/engine/sim/sim_trips.hpp"
#include "probes/engine/sim/sim_world.hpp"
#include "topology/base/check.hpp"
#include "topology/model/fabric.hpp"

namespace weft::sim {
namespace {

// simulate_trace: which hops answer TTL-limited probes.

constexpr std::uint64_t kTraceKey = 0x77ACE;
constexpr Bytes kProbe(128);
constexpr PathLabel kIcmp(0);  // answers carry no label of their own: a switch's all take one path per NIC

/// How often a request asks each switch per second, at its pace.
std::unordered_map<NodeId, double> askings_of(const SimWorld& world, PortId from,
                                              const datapath::TraceRequest& request) {
  std::unordered_map<NodeId, double> askings;
  double probes = 0;
  std::vector<ChannelId> way;
  for (const auto& spec : request.specs) {
    probes += spec.hops();
    const auto to =
        spec.peer < request.peers.size() ? world.nic_at(request.peers[spec.peer].address) : std::nullopt;
    if (!to) continue;
    world.path_of(from, *to, spec.label, way);
    for (std::size_t hop = spec.first_hop; hop <= std::min<std::size_t>(spec.max_hops, way.size()); ++hop)
      askings[world.fabric().target_node(way[hop - 1])] += 1;
  }
  for (auto& [node, count] : askings) count *= request.pace.packets_per_second / std::max(probes, 1.0);
  return askings;
}

class TraceSimulation {
 public:
  /// `askings`: of each switch per second, of all NICs; empty: switches answer all.
  TraceSimulation(const SimWorld& world, PortId from, const datapath::TraceRequest& request,
                  Nanoseconds begin, std::unordered_map<NodeId, double> askings)
      : world_(world), from_(from), request_(request), begin_(begin), askings_(std::move(askings)) {
    const SimOptions& options = world.options();
    by_packet_ = !options.spraying.empty() || options.routes_change;
  }

  void add(std::uint32_t index, std::vector<datapath::HopAnswer>& answers) {
    const datapath::TraceSpec& spec = request_.specs[index];
    const auto to =
        spec.peer < request_.peers.size() ? world_.nic_at(request_.peers[spec.peer].address) : std::nullopt;
    if (!to || !world_.can_send(from_)) return;
    find_way(*to, index, spec.first_hop, 0);
    RandomStream random({world_.options().seed, kTraceKey, request_.batch.value(), from_.value(), index,
                         to->value(), spec.label.value()});
    for (std::size_t hop = spec.first_hop; hop <= spec.max_hops; ++hop)
      if (const auto answer = ask(index, hop, *to, random)) answers.push_back(*answer);
  }

 private:
  /// Where the probe of this hop and attempt goes.
  void find_way(PortId to, std::uint32_t index, std::size_t hop, int attempt) {
    const datapath::TraceSpec& spec = request_.specs[index];
    const std::uint64_t probe = std::uint64_t{request_.batch.value()} << 32 | index;
    const auto number = mix_bits(probe) + (hop << 8) + static_cast<std::uint64_t>(attempt);
    arrives_ = world_.path_of(from_, to, spec.label, forward_,
                              {{spec.fields, number}, time_of(index, hop, attempt)});
  }

  Nanoseconds time_of(std::uint32_t index, std::size_t hop, int attempt) const {
    const auto before = static_cast<std::int64_t>(index) * request_.specs[index].hops() +
                        static_cast<std::int64_t>(hop) - request_.specs[index].first_hop;
    return begin_ + length_of(request_) * attempt / request_.attempts + interval_of(request_.pace) * before;
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

  /// Absent: none of the attempts was answered.
  std::optional<datapath::HopAnswer> ask(std::uint32_t index, std::size_t hop, PortId to,
                                         RandomStream& random) {
    const datapath::TraceSpec& spec = request_.specs[index];
    for (int attempt = 0; attempt < request_.attempts; ++attempt) {
      if (by_packet_) find_way(to, index, hop, attempt);
      if (hop > forward_.size()) continue;
      const auto there = std::span(forward_).first(hop);
      const NodeId node = world_.fabric().target_node(there.back());
      const bool is_peer = arrives_ && hop == forward_.size();
      const auto address =
          is_peer ? request_.peers[spec.peer].address : world_.answering_address(there.back());
      const Nanoseconds at = time_of(index, hop, attempt);
      const bool has_way = is_peer ? world_.path_of(to, from_, spec.label, backward_, {{}, at})
                                   : world_.routing(at).path_from(node, from_, kIcmp, backward_);
      if (!address || !has_way) continue;
      const Look look = look_at(there, at);
      if (random.uniform() < look.survival * answered_share(node) * kept_share(node)) {
        const auto wait = SimWorld::jitter(hop + backward_.size()) * random.exponential();
        return datapath::HopAnswer{index, static_cast<std::uint8_t>(hop), is_peer, *address,
                                   look.latency + std::chrono::duration_cast<Nanoseconds>(wait)};
      }
    }
    return std::nullopt;
  }

  /// The way to a hop and back when an attempt is sent.
  struct Look {
    double survival = 0;
    Nanoseconds latency{};
  };
  Look look_at(std::span<const ChannelId> there, Nanoseconds at) {
    const auto& channels = world_.channels();
    if (!channels.varies(there) && !channels.varies(backward_))
      return {channels.probe_survival(there, kProbe) * channels.probe_survival(backward_, kProbe),
              world_.latency(there, kProbe) + world_.latency(backward_, kProbe)};
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
  std::unordered_map<NodeId, double> askings_;
  bool by_packet_ = false;  // packets of one label may go different ways
  bool arrives_ = false;    // as forward_ says
  std::vector<ChannelId> forward_;
  std::vector<ChannelId> backward_;  // scratch
  std::vector<ChannelState> states_;
};

/// The request begins at `begin` on the simulator's clock.
std::vector<datapath::HopAnswer> simulate_trace(const SimWorld& world, PortId from,
                                                const datapath::TraceRequest& request, Nanoseconds begin,
                                                std::unordered_map<NodeId, double> askings,
                                                std::stop_token stop) {
  std::vector<datapath::HopAnswer> answers;
  TraceSimulation simulation(world, from, request, begin, std::move(askings));
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

void SimFabric::add_askings(PortId nic, const datapath::TraceRequest& request) {
  if (asked_of_ != request.batch) askings_.clear(), expected_.clear();
  asked_of_ = request.batch;
  for (const auto& [node, per_second] : askings_of(world_, nic, request)) askings_[node] += per_second;
}

void SimFabric::expect(PortId nic, const datapath::TraceRequest& request) {
  if (!world_.options().answers_per_second) return;
  const std::lock_guard lock(mutex_);
  add_askings(nic, request);
  ++expected_[nic];
}

std::unordered_map<NodeId, double> SimFabric::take_askings(PortId nic,
                                                           const datapath::TraceRequest& request) {
  if (!world_.options().answers_per_second) return {};
  const std::lock_guard lock(mutex_);
  const auto expected = expected_.find(nic);
  if (asked_of_ == request.batch && expected != expected_.end() && expected->second > 0)
    --expected->second;
  else
    add_askings(nic, request);
  return askings_;
}

void SimFabric::expect(PortId nic, const datapath::FlowRequest& request) {
  if (!request.trips) return;
  const Nanoseconds start = begin(request.batch, request.duration);
  auto started = start_flows(world_, nic, request, start);
  const std::lock_guard lock(mutex_);
  if (!loaded_ || loaded_->batch != request.batch) loaded_ = LoadedRound{request.batch, {}, {}};
  if (!loaded_->senders.insert(nic).second) return;
  loaded_->channels = nullptr;
  std::ranges::move(started.flows, std::back_inserter(loaded_->flows));
}

std::shared_ptr<const ChannelStates> SimFabric::channels_beside(PortId nic,
                                                                const datapath::FlowRequest& request) {
  expect(nic, request);
  const std::lock_guard lock(mutex_);
  if (!loaded_->channels)
    loaded_->channels = std::make_shared<const ChannelStates>(channels_under(world_, loaded_->flows));
  return loaded_->channels;
}

std::shared_ptr<SimNic> SimFabric::engine(PortId nic) {
  WEFT_CHECK(world_.fabric().is_host(world_.fabric().port(nic).node) && world_.fabric().port(nic).link);
  return std::make_shared<SimNic>(shared_from_this(), nic);
}

Result<std::vector<datapath::HopAnswer>> SimNic::trace(const datapath::TraceRequest& request,
                                                       std::stop_token stop) {
  const Nanoseconds begin = fabric_->begin(request.batch, length_of(request));
  return simulate_trace(fabric_->world_, nic_, request, begin, fabric_->take_askings(nic_, request),
                        std::move(stop));
}

void SimNic::expect(const datapath::TraceRequest& request) { fabric_->expect(nic_, request); }

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

void SimNic::expect(const datapath::FlowRequest& request) { fabric_->expect(nic_, request); }

Result<std::vector<datapath::FlowTally>> SimNic::run(const datapath::FlowRequest& request, std::stop_token) {
  const Nanoseconds begin = fabric_->begin(request.batch, request.duration);
  auto started = start_flows(fabric_->world_, nic_, request, begin);
  if (request.trips)
    simulate_trips(fabric_->world_, *fabric_->channels_beside(nic_, request), nic_, request, begin,
                   started.tallies);
  const std::lock_guard lock(fabric_->mutex_);
  fabric_->ledger_.add(request.batch, std::move(started.flows));
  return std::move(started.tallies);
}

}  // namespace weft::sim
