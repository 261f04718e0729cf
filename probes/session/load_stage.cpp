#include "probes/session/load_stage.hpp"

#include <algorithm>

#include "probes/session/stage.hpp"
#include "topology/model/fabric.hpp"

namespace weft::session {
namespace {

constexpr auto kSlack = std::chrono::seconds(5);
constexpr auto kToConnect = std::chrono::milliseconds(20);  // a queue pair, both ends, on an emulated machine
constexpr Bytes kPacket(4096);                              // of IP: a RoCE packet of a 4096-byte MTU, nearly
/// Below this share of what was wanted, or with a pause above this share of the round, it was the sender that
/// held the flow back; and the receiver, where its host dropped as much unread. A host that is scheduled
/// stays within a few per cent.
constexpr double kMinOffered = 0.9;
constexpr double kMaxPause = 0.2;
constexpr Nanoseconds kMinPause = std::chrono::milliseconds(10);  // shorter ones are how hosts schedule

}  // namespace

/// What the queue pairs of one flow came to together.
struct LoadStage::Gathered {
  Bandwidth offered;
  Bandwidth delivered;
  Nanoseconds longest_gap{};
  Nanoseconds span{};
  std::optional<Nanoseconds> started = std::nullopt;  // by the clock of who posted it
  std::uint64_t unread = 0;                           // packets that its receiver's host dropped at most
  std::uint64_t sent = 0;                             // packets
  bool has_receiver = true;                           // who could be asked what arrived
  bool not_sent = false;                              // by the device of one of its queue pairs
  std::vector<QpResult> qps;
};

std::vector<WorkItem> LoadStage::next_wave() {
  const std::size_t round = wave_ / 2;
  if (wave_ % 2 == 1) {
    ++wave_;
    return receipt_work(rounds_[round]);
  }
  if (round > 0) conclude(rounds_[round - 1]);
  if (round >= rounds_.size()) {
    note_contradictions(in_->fabric, *results_, std::move(contradictions_));
    return {};
  }
  ++wave_;
  return flow_work(rounds_[round]);
}

/// Labels of the flow's path, its own first: queue pairs that share a path need not share a port.
std::vector<PathLabel> LoadStage::labels_for(const plan::PlannedFlow& flow) const {
  std::vector<PathLabel> labels{flow.label};
  const plan::PairRoutes* known = results_->learner.find(flow.pair.src, flow.pair.dst);
  for (std::size_t r = 0; known != nullptr && r < known->routes.size(); ++r) {
    const plan::Route& route = known->routes[r];
    if (labels.size() < in_->options.qps && route.reached && route.paths == flow.path &&
        route.label != flow.label)
      labels.push_back(route.label);
  }
  return labels;
}

std::vector<WorkItem> LoadStage::flow_work(const plan::LoadRound& round) {
  batch_ = results_->next_batch();
  const std::optional<BatchId> trips = probes_beside() ? std::optional(results_->next_batch()) : std::nullopt;
  if (trips) beside_.learn();
  by_nic_.clear();
  for (std::size_t i = 0; i < round.size(); ++i) {
    if (!results_->takes_part(round[i].pair.src) || !results_->takes_part(round[i].pair.dst)) continue;
    const auto labels = labels_for(round[i]);
    for (std::uint32_t q = 0; q < in_->options.qps; ++q)
      by_nic_[poster(round[i])].push_back({i, labels[q % labels.size()]});
  }
  std::vector<WorkItem> work;
  for (const auto& [nic, posted] : by_nic_) {
    datapath::FlowRequest request{.run = in_->run,
                                  .batch = batch_,
                                  .duration = in_->options.load_round,
                                  .flow_options = in_->options.flow_options};
    PeerList peers;
    for (const Posted& qp : posted) {
      request.specs.push_back({peers.index_of(peer(round[qp.flow]), in_->addresses), qp.label,
                               round[qp.flow].rate * (share_ / in_->options.qps), kPacket});
      if (trips && qp.label == round[qp.flow].label)
        request.specs.back().back_label = beside_.back_label(round[qp.flow]);
    }
    if (trips) request.trips = beside_.pace(request.specs, *trips);
    request.peers = std::move(peers).take();
    const auto count = static_cast<std::int64_t>(posted.size());
    work.push_back({nic, request.flow_options.warm_up + request.duration + kSlack + kToConnect * count,
                    std::move(request)});
  }
  return work;
}

std::vector<WorkItem> LoadStage::receipt_work(const plan::LoadRound& round) {
  std::set<PortId> receivers;
  for (const auto& [nic, tallies] : tallies_)
    for (const Posted& qp : by_nic_[nic]) receivers.insert(round[qp.flow].pair.dst);
  std::vector<WorkItem> work;
  for (const PortId nic : receivers)
    if (results_->takes_part(nic)) work.push_back({nic, kSlack, ReceivedQuery{batch_}});
  return work;
}

void LoadStage::take(const WorkItem& item, const TaskAnswer* answer) {
  if (!answer) return;
  if (const auto* tallies = std::get_if<std::vector<datapath::FlowTally>>(answer))
    tallies_[item.nic] = *tallies;
  if (const auto* receipts = std::get_if<std::vector<datapath::ReceivedTally>>(answer))
    receipts_[item.nic] = *receipts;
}

void LoadStage::conclude(const plan::LoadRound& round) {
  std::map<std::size_t, Gathered> flows;
  const auto number = first_round_ + static_cast<std::uint32_t>((wave_ / 2) - 1);
  begin_on_clock();
  for (const auto& [nic, tallies] : tallies_) {
    note_not_sent(nic, round);
    for (const datapath::FlowTally& tally : tallies) {
      if (tally.spec >= by_nic_[nic].size()) continue;
      const auto [flow, label] = by_nic_[nic][tally.spec];
      if (tally.refused) {
        note_refusal(in_->fabric, *results_, nic, peer(round[flow]), *tally.refused);
        continue;
      }
      if (tally.of_sender) {
        flows[flow].not_sent = true;
        continue;
      }
      gather(flows[flow], round[flow], tally, label);
      if (tally.trips && label == round[flow].label) beside_.take(round[flow], number, *tally.trips);
    }
  }
  for (auto& [flow, gathered] : flows)
    if (gathered.has_receiver && !gathered.not_sent) observe(round[flow], std::move(gathered), number);
  tallies_.clear();
  receipts_.clear();
}

void LoadStage::begin_on_clock() {
  std::map<PortId, Nanoseconds> first_sends;
  for (const auto& [nic, tallies] : tallies_)
    for (const datapath::FlowTally& tally : tallies) {
      if (!tally.started) continue;
      const auto [first, is_new] = first_sends.try_emplace(nic, *tally.started);
      if (!is_new) first->second = std::min(first->second, *tally.started);
    }
  results_->clock.begin_wave(first_sends);
}

/// Null where the receiver says nothing of it.
const datapath::ReceivedTally* LoadStage::receipt_of(const plan::PlannedFlow& flow,
                                                     std::uint32_t spec) const {
  const auto& receipts = receipts_.at(flow.pair.dst);
  const auto mine = [&](const datapath::ReceivedTally& t) {
    return t.batch == batch_ && t.from == flow.pair.src && t.spec == spec;
  };
  const auto found = std::ranges::find_if(receipts, mine);
  return found == receipts.end() ? nullptr : &*found;
}

void LoadStage::gather(Gathered& into, const plan::PlannedFlow& flow, const datapath::FlowTally& tally,
                       PathLabel label) {
  into.has_receiver = into.has_receiver && receipts_.contains(flow.pair.dst);
  if (!into.has_receiver) return;
  const datapath::ReceivedTally* received = receipt_of(flow, tally.spec);
  if (auto what = contradiction_of(tally, received)) {
    contradictions_.push_back({poster(flow), flow.pair.dst, std::move(*what)});
    into.has_receiver = false;  // none that could be believed
    return;
  }
  // A flow of a stated volume ends when it is done, and its last message has no pause behind it: a volume of
  // a few would seem faster than its pace. One of a stated time that is cut short counts as if it had gone on
  // without moving anything.
  const auto& options = in_->options;
  const Bandwidth pace = flow.rate * (share_ / options.qps);
  const auto moved = static_cast<std::int64_t>(tally.measure ? tally.measure->bytes : tally.bytes);
  const Nanoseconds least = options.flow_options.volume ? pace.time_for(Bytes(moved)) : options.load_round;
  const Nanoseconds span = std::max(least, tally.elapsed);
  const auto over = [](std::uint64_t bytes, Nanoseconds time) {
    return Bandwidth::over(Bytes(static_cast<std::int64_t>(bytes)), time);
  };
  // What a volume was offered at is its pace: the time it took is the network's.
  into.offered = into.offered + (options.flow_options.volume ? pace : over(tally.bytes, span));
  into.span = std::max(into.span, span);
  into.longest_gap = std::max(into.longest_gap, tally.longest_gap);
  if (tally.started) into.started = std::min(into.started.value_or(*tally.started), *tally.started);
  into.sent += tally.packets;
  if (received) {
    into.delivered = into.delivered + over(received->bytes, std::max(span, received->last - received->first));
    into.unread = std::max(into.unread, received->dropped);
  }
  if (tally.measure)
    into.qps.push_back({label, over(tally.measure->bytes, span), tally.measure->messages, tally.error});
  if (tally.corrupted || (tally.measure && !tally.error))
    results_->verified.push_back({.from = flow.pair.src,
                                  .to = flow.pair.dst,
                                  .bytes = tally.measure ? tally.measure->bytes : tally.bytes,
                                  .differs = tally.corrupted});
  if (tally.error && !tally.corrupted) note_death(flow, label, *tally.error);
}

void LoadStage::observe(const plan::PlannedFlow& flow, Gathered gathered, std::uint32_t round) {
  LoadObservation seen{.path = flow.path,
                       .round = round,
                       .wanted = flow.rate * share_,
                       .offered = gathered.offered,
                       .delivered = gathered.delivered,
                       .line_rate = in_->fabric.rate(*in_->fabric.channel_from(flow.pair.src))};
  seen.sender_stalled =
      seen.offered < seen.wanted * kMinOffered ||
      gathered.longest_gap > std::max<std::chrono::duration<double>>(kMinPause, gathered.span * kMaxPause) ||
      static_cast<double>(gathered.unread) > static_cast<double>(gathered.sent) * (1 - kMinOffered);
  if (gathered.started)
    seen.window = results_->clock.window(poster(flow), {*gathered.started, gathered.span});
  results_->observations.loads.push_back(seen);
  if (keeps_results_)
    results_->flows.flows.push_back({.round = round,
                                     .src = flow.pair.src,
                                     .dst = flow.pair.dst,
                                     .path = flow.path,
                                     .wanted = seen.wanted,
                                     .delivered = seen.delivered,
                                     .sender_stalled = seen.sender_stalled,
                                     .qps = std::move(gathered.qps)});
}

/// What the device of the NIC did not send is no loss of the fabric. Its host is told of once in a stage.
void LoadStage::note_not_sent(PortId nic, const plan::LoadRound& round) {
  const auto& tallies = tallies_.at(nic);
  const auto is_of_sender = [](const datapath::FlowTally& tally) { return tally.of_sender; };
  const auto first = std::ranges::find_if(tallies, is_of_sender);
  if (first == tallies.end() || first->spec >= by_nic_[nic].size() || !reported_not_sent_.insert(nic).second)
    return;
  const auto [flow, label] = by_nic_[nic][first->spec];
  results_->observations.hosts.push_back(
      {in_->fabric.port(nic).node, nic, Verdict::unknown, std::nullopt,
       fmt::format("its device did not send {} of {} flows of a round, so they say nothing of their paths; "
                   "that to {} with label {}: {}",
                   std::ranges::count_if(tallies, is_of_sender), tallies.size(),
                   in_->fabric.name_of_nic(peer(round[flow])), label.value(), first->error.value_or(""))});
}

/// A queue pair that died says that its path is bad, not which channel of it: the diagnosis decides that.
void LoadStage::note_death(const plan::PlannedFlow& flow, PathLabel label, const std::string& why) {
  std::string path;
  for (const PathId each : results_->learner.table().paths(flow.path)) {
    path += path.empty() ? "" : " or ";
    const auto channels = results_->learner.table().channels(each);
    for (std::size_t i = 0; i < channels.size(); ++i)
      path += (i == 0 ? "" : ", ") + in_->fabric.name_of(channels[i]);
  }
  const PortId nic = poster(flow);
  results_->observations.hosts.push_back(
      {in_->fabric.port(nic).node, nic, Verdict::unknown, std::nullopt,
       fmt::format("its queue pair to {} with label {} (by {}) ended: {}",
                   in_->fabric.name_of(in_->fabric.port(peer(flow)).node), label.value(), path, why)});
}

}  // namespace weft::session
