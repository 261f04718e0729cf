#include "probes/session/dry_run.hpp"

#include <algorithm>
#include <map>

#include "probes/datapath/flow_trips.hpp"
#include "probes/packet/probe_frame.hpp"
#include "topology/model/fabric.hpp"

namespace weft::session {
namespace {

struct Wave {
  std::string stage;
  std::vector<WorkItem> work;
};

double seconds(Nanoseconds time) { return std::chrono::duration<double>(time).count(); }
Nanoseconds in_nanoseconds(double seconds) { return Nanoseconds(static_cast<std::int64_t>(seconds * 1e9)); }

/// What one wave puts on the channels, and how long it takes.
class WaveSending {
 public:
  WaveSending(const Fabric& fabric, const plan::PathLearner& learner)
      : fabric_(fabric), learner_(learner), bits_(fabric.channel_count()), answers_(fabric.node_count()) {}

  void add(const WorkItem& item) {
    std::visit([&](const auto& request) { add(item.nic, request); }, item.work);
  }
  void add_to(plan::SendingPlan& plan, const std::string& stage) const;

 private:
  struct Sent {
    double packets = 0;
    double bytes = 0;
  };

  void add(PortId nic, const datapath::TraceRequest& request);
  void add(PortId nic, const datapath::PingRequest& request);
  void add(PortId nic, const datapath::FlowRequest& request);
  void add(PortId, const datapath::TransferRequest&) {}  // no sweep sends these
  void add(PortId, const ReceivedQuery&) {}              // over the bus
  void add(PortId, const CounterQuery&) {}

  /// Calls `visit` with each path that the label may take, and its share; where none is known, with the two
  /// cables.
  template <class Visit>
  void for_paths(PortId src, PortId dst, PathLabel label, Visit visit) const;
  void put(PortId src, PortId dst, PathLabel label, double bits);
  void took(double time) { time_ = std::max(time_, time); }
  void sent(PortId nic, double packets, double bytes) {
    sent_[nic].packets += packets;
    sent_[nic].bytes += bytes;
  }
  plan::StageSending& stage_of(plan::SendingPlan& plan, const std::string& stage) const;

  const Fabric& fabric_;
  const plan::PathLearner& learner_;
  std::vector<double> bits_;     // per second, by channel
  std::vector<double> answers_;  // per second, by node
  std::map<PortId, Sent> sent_;
  std::optional<Bytes> size_;
  double time_ = 0;
};

template <class Visit>
void WaveSending::for_paths(PortId src, PortId dst, PathLabel label, Visit visit) const {
  if (const plan::PairRoutes* known = learner_.find(src, dst))
    if (const auto route = std::ranges::find(known->routes, label, &plan::Route::label);
        route != known->routes.end()) {
      const auto paths = learner_.table().paths(route->paths);
      for (const PathId path : paths)
        visit(learner_.table().channels(path), 1.0 / static_cast<double>(paths.size()));
      return;
    }
  std::vector<ChannelId> cables;
  for (const auto cable : {fabric_.channel_from(src), fabric_.channel_into(dst)})
    if (cable) cables.push_back(*cable);
  visit(std::span<const ChannelId>(cables), 1.0);
}

void WaveSending::put(PortId src, PortId dst, PathLabel label, double bits) {
  for_paths(src, dst, label, [&](std::span<const ChannelId> path, double share) {
    for (const ChannelId channel : path) bits_[channel.value()] += bits * share;
  });
}

void WaveSending::add(PortId nic, const datapath::TraceRequest& request) {
  double packets = 0;
  for (const datapath::TraceSpec& spec : request.specs) packets += spec.hops();
  if (packets == 0 || request.pace.packets_per_second <= 0) return;
  const double each = request.pace.packets_per_second / packets;  // of one hop of one label, a second
  double size = 0;
  for (const datapath::TraceSpec& spec : request.specs) {
    const datapath::Peer& peer = request.peers[spec.peer];
    size = static_cast<double>(packet::min_probe_size(peer.address.is_v6()));
    for_paths(nic, peer.nic, spec.label, [&](std::span<const ChannelId> path, double share) {
      for (std::size_t hop = spec.first_hop; hop <= std::min<std::size_t>(spec.max_hops, path.size());
           ++hop) {
        for (std::size_t i = 0; i < hop; ++i) bits_[path[i].value()] += each * share * size * 8;
        answers_[fabric_.target_node(path[hop - 1]).value()] += each * share;
      }
    });
  }
  sent(nic, packets, packets * size);
  took(packets / request.pace.packets_per_second + seconds(request.pace.answer_wait));
}

void WaveSending::add(PortId nic, const datapath::PingRequest& request) {
  double packets = 0;
  for (const datapath::PingSpec& spec : request.specs) packets += spec.count;
  if (packets == 0 || request.pace.packets_per_second <= 0) return;
  for (const datapath::PingSpec& spec : request.specs) {
    const datapath::Peer& peer = request.peers[spec.peer];
    const auto size = static_cast<double>(spec.size.count());
    const double bits = request.pace.packets_per_second * spec.count / packets * size * 8;
    put(nic, peer.nic, spec.label, bits);
    put(peer.nic, nic, spec.back_label, bits);
    sent(nic, spec.count, spec.count * size);
    sent(peer.nic, spec.count, spec.count * size);
    size_ = spec.size;
  }
  took(packets / request.pace.packets_per_second + seconds(request.pace.answer_wait));
}

void WaveSending::add(PortId nic, const datapath::FlowRequest& request) {
  const double time = seconds(request.flow_options.warm_up + request.duration);
  const bool reads = request.flow_options.operation == FlowOperation::read;
  for (const datapath::FlowSpec& spec : request.specs) {
    const PortId peer = request.peers[spec.peer].nic;
    const PortId from = reads ? peer : nic;
    const PortId to = reads ? nic : peer;
    const double bits = spec.rate.bits_per_second();
    put(from, to, spec.label.value_or(PathLabel()), bits);
    sent(from, bits * time / 8 / static_cast<double>(spec.size.count()), bits * time / 8);
  }
  if (const auto trips = datapath::trip_request(request))
    for (const datapath::PingSpec& spec : trips->pings.specs) {
      const double bytes = spec.count * static_cast<double>(spec.size.count());
      const PortId peer = request.peers[spec.peer].nic;
      put(nic, peer, spec.label, bytes * 8 / time);
      put(peer, nic, spec.back_label, bytes * 8 / time);
      sent(nic, spec.count, bytes);
      sent(peer, spec.count, bytes);
    }
  took(time);
}

plan::StageSending& WaveSending::stage_of(plan::SendingPlan& plan, const std::string& stage) const {
  const auto same = [&](const plan::StageSending& s) { return s.stage == stage && s.size == size_; };
  const auto known = std::ranges::find_if(plan.stages, same);
  if (known != plan.stages.end()) return *known;
  plan.stages.push_back({.stage = stage, .size = size_});
  return plan.stages.back();
}

void WaveSending::add_to(plan::SendingPlan& plan, const std::string& stage) const {
  if (sent_.empty()) return;
  plan::StageSending& row = stage_of(plan, stage);
  row.time += in_nanoseconds(time_);
  std::vector<double> through(fabric_.node_count());
  for (std::uint32_t c = 0; c < bits_.size(); ++c) {
    const ChannelId channel(c);
    if (bits_[c] <= 0) continue;
    const double share = bits_[c] / fabric_.rate(channel).bits_per_second();
    if (share > row.share) {
      row.share = share;
      row.fullest = channel;
    }
    through[fabric_.target_node(channel).value()] += bits_[c];
    const Bandwidth rate = Bandwidth::bit(bits_[c]);
    if (!fabric_.is_host(fabric_.source_node(channel))) continue;
    plan::NicSending& nic = plan.nics[fabric_.source(channel)];
    nic.most = std::max(nic.most, rate);
    row.nic = std::max(row.nic, rate);
  }
  for (const auto& [nic, all] : sent_) {
    plan::NicSending& total = plan.nics[nic];
    total.packets += static_cast<std::uint64_t>(all.packets);
    total.bytes += static_cast<std::uint64_t>(all.bytes);
    row.packets += static_cast<std::uint64_t>(all.packets);
    row.bytes += static_cast<std::uint64_t>(all.bytes);
  }
  for (std::uint32_t n = 0; n < through.size(); ++n) {
    const NodeId node(n);
    if (fabric_.is_host(node) || (through[n] <= 0 && answers_[n] <= 0)) continue;
    plan::SwitchLoad& load = plan.switches[node];
    load.most = std::max(load.most, Bandwidth::bit(through[n]));
    load.answers_per_second = std::max(load.answers_per_second, answers_[n]);
    row.node = std::max(row.node, Bandwidth::bit(through[n]));
    row.answers_per_second = std::max(row.answers_per_second, answers_[n]);
  }
}

}  // namespace

Result<plan::SendingPlan> dry_run(const Fabric& fabric, Sweep& sweep, const std::vector<PortId>& nics,
                                  const packet::RunSecrets& secrets, const OpenEngines& open,
                                  std::stop_token stop) {
  std::map<PortId, NicEngines> engines;
  for (const PortId nic : nics) {
    WEFT_TRY(auto opened, open({fabric.name_of_nic(nic), nic}, secrets, {}));
    engines.emplace(nic, std::move(opened));
  }
  std::vector<Wave> waves;
  for (auto work = sweep.next_wave(); !work.empty() && !stop.stop_requested(); work = sweep.next_wave()) {
    for (const WorkItem& item : work) {
      const auto answer = do_work(engines.at(item.nic), item.work, stop);
      sweep.take(item, answer ? &*answer : nullptr);
    }
    waves.push_back({std::string(sweep.doing()), std::move(work)});
  }
  plan::SendingPlan plan;
  for (const Wave& wave : waves) {  // once all paths are known
    WaveSending sending(fabric, sweep.learner());
    for (const WorkItem& item : wave.work) sending.add(item);
    sending.add_to(plan, wave.stage);
  }
  return plan;
}

}  // namespace weft::session
