#include "probes/engine/sim/sim_trace.hpp"

#include <algorithm>
#include <unordered_map>

#include "probes/engine/sim/random_stream.hpp"

namespace weft {
namespace {

constexpr std::uint64_t kTraceKey = 0x77ACE;
constexpr Bytes kProbe(128);
constexpr PathLabel kIcmp(0);  // answers carry no label of their own: a switch's all take one path per NIC

class TraceSimulation {
 public:
  TraceSimulation(const SimWorld& world, PortId from, const TraceRequest& request)
      : world_(world), from_(from), request_(request) {
    for (const Peer& peer : request.peers) nics_.push_back(world.nic_at(peer.address));
    count_askings();
  }

  void add(std::uint32_t index, std::vector<HopAnswer>& answers) {
    const TraceSpec& spec = request_.specs[index];
    const auto to = nic_of(spec);
    if (!to || !world_.can_send(from_)) return;
    const bool arrives = world_.path_of(from_, *to, spec.label, forward_);
    RandomStream random({world_.options().seed, kTraceKey, request_.batch.value(), from_.value(), index,
                         to->value(), spec.label.value()});
    for (std::size_t hop = 1; hop <= std::min<std::size_t>(spec.max_hops, forward_.size()); ++hop) {
      const bool is_peer = arrives && hop == forward_.size();
      const auto address =
          is_peer ? request_.peers[spec.peer].address : world_.answering_address(forward_[hop - 1]);
      if (!address) continue;
      if (const auto rtt = ask(spec, hop, is_peer, *to, random))
        answers.push_back({index, static_cast<std::uint8_t>(hop), is_peer, *address, *rtt});
    }
  }

 private:
  std::optional<PortId> nic_of(const TraceSpec& spec) const {
    return spec.peer < nics_.size() ? nics_[spec.peer] : std::nullopt;
  }

  /// How often this request asks each switch per second, at its pace.
  void count_askings() {
    if (!world_.options().answers_per_second) return;
    double probes = 0;
    for (const auto& spec : request_.specs) {
      const auto to = nic_of(spec);
      probes += spec.max_hops;
      if (!to) continue;
      world_.path_of(from_, *to, spec.label, forward_);
      for (std::size_t hop = 1; hop <= std::min<std::size_t>(spec.max_hops, forward_.size()); ++hop)
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

  /// The round trip to a hop; absent: none of the attempts was answered.
  std::optional<Nanoseconds> ask(const TraceSpec& spec, std::size_t hop, bool is_peer, PortId to,
                                 RandomStream& random) {
    const auto there = std::span(forward_).first(hop);
    const NodeId node = world_.fabric().target_node(there.back());
    const bool has_way = is_peer ? world_.path_of(to, from_, spec.label, backward_)
                                 : world_.routing().path_from(node, from_, kIcmp, backward_);
    if (!has_way) return std::nullopt;
    const auto& channels = world_.channels();
    const double chance = channels.probe_survival(there, kProbe) *
                          channels.probe_survival(backward_, kProbe) * answered_share(node);
    for (int attempt = 0; attempt < request_.attempts; ++attempt)
      if (random.uniform() < chance) {
        const auto wait = SimWorld::jitter(hop + backward_.size()) * random.exponential();
        return world_.latency(there, kProbe) + world_.latency(backward_, kProbe) +
               std::chrono::duration_cast<Nanoseconds>(wait);
      }
    return std::nullopt;
  }

  const SimWorld& world_;
  PortId from_;
  const TraceRequest& request_;
  std::vector<std::optional<PortId>> nics_;  // of the request's peers
  std::unordered_map<NodeId, double> askings_;
  std::vector<ChannelId> forward_;  // scratch
  std::vector<ChannelId> backward_;
};

}  // namespace

std::vector<HopAnswer> simulate_trace(const SimWorld& world, PortId from, const TraceRequest& request,
                                      std::stop_token stop) {
  std::vector<HopAnswer> answers;
  TraceSimulation simulation(world, from, request);
  for (std::uint32_t index = 0; index < request.specs.size() && !stop.stop_requested(); ++index)
    simulation.add(index, answers);
  return answers;
}

}  // namespace weft
