#include "probes/session/ping_stage.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "probes/session/contradictions.hpp"
#include "probes/session/stage.hpp"
#include "topology/findings/loss_runs.hpp"

namespace weft::session {
namespace {

constexpr auto kReceiptLimit = std::chrono::seconds(5);

/// The tallies of one receiver by who sent and which spec.
using ReceiptIndex = std::unordered_map<std::uint64_t, const datapath::ReceivedTally*>;
std::uint64_t receipt_key(PortId from, std::uint32_t spec) {
  return static_cast<std::uint64_t>(from.value()) << 32 | spec;
}

/// The packets of a row of `sent` that did not arrive; absent: their order is not known.
std::optional<std::vector<LossRun>> missing(const datapath::ReceivedTally* received, std::uint32_t sent) {
  if (!received) return std::vector<LossRun>{{0, sent}};
  if (!received->missing) return std::nullopt;
  auto runs = *received->missing;
  const std::uint64_t came = packets_in(runs) + received->packets + received->corrupt;  // up to the last
  if (came > sent) return std::nullopt;
  if (came < sent)
    runs.push_back({static_cast<std::uint32_t>(came), static_cast<std::uint32_t>(sent - came)});
  return are_loss_runs(runs, sent) ? std::optional(std::move(runs)) : std::nullopt;
}

/// `runs` where they are of `lost` packets: others contradict the counts.
std::vector<LossRun> if_of(std::uint64_t lost, std::vector<LossRun> runs) {
  return packets_in(runs) == lost && runs.size() <= kMaxLossRuns ? std::move(runs) : std::vector<LossRun>();
}

/// Of the `lost` echoes those that their sender's host, which did not run, let go when they were waited for
/// no more: as many as left late and did not come.
std::uint64_t held_back(std::uint64_t lost, const datapath::PingTally& sent,
                        const datapath::ReceivedTally* received) {
  if (!received || received->late <= sent.late) return 0;
  return std::min(lost, received->late - sent.late);
}

template <class Tally>
std::uint64_t dropped_by_host(const std::vector<Tally>& tallies) {
  std::uint64_t most = 0;
  for (const Tally& tally : tallies) most = std::max(most, tally.dropped);
  return most;
}

}  // namespace

void share_out(std::uint64_t dropped, std::vector<std::size_t> rows, std::vector<Observation>& all) {
  // Rows of which nothing was taken come last, and share by what they lost.
  constexpr double kNone = 1e-9;
  const auto taken = [&](std::size_t row) {
    return static_cast<double>(all[row].sent - all[row].lost) + kNone * static_cast<double>(all[row].lost);
  };
  std::ranges::stable_sort(rows, {},
                           [&](std::size_t row) { return static_cast<double>(all[row].lost) / taken(row); });
  double to_come = 0;  // taken of this row and of those that lost more
  for (const std::size_t row : rows) to_come += taken(row);
  for (const std::size_t row : rows) {
    const double rate = to_come > 0 ? static_cast<double>(dropped) / to_come : 0.0;
    const double mine = std::min(rate * taken(row), static_cast<double>(dropped));
    all[row].excused = std::min(static_cast<std::uint64_t>(std::llround(mine)), all[row].lost);
    to_come -= taken(row);
    dropped -= all[row].excused;
  }
}

std::vector<WorkItem> PingStage::next_wave() {
  switch (wave_) {
    case Wave::pings:
      wave_ = Wave::receipts;
      return ping_work();
    case Wave::receipts:
      wave_ = Wave::done;
      return receipt_work();
    case Wave::done:
      conclude();
      break;
  }
  return {};
}

std::vector<WorkItem> PingStage::ping_work() {
  batch_ = results_->next_batch();
  for (std::size_t i = 0; i < pings_.size(); ++i)
    if (results_->takes_part(pings_[i].ping.pair.src) && results_->takes_part(pings_[i].ping.pair.dst))
      by_nic_[pings_[i].ping.pair.src].push_back(i);
  const auto packets_of = [this](const auto& entry) {
    double packets = 0;
    for (const std::size_t i : entry.second) packets += pings_[i].packets;
    return packets;
  };
  double most = 1;
  for (const auto& entry : by_nic_) most = std::max(most, packets_of(entry));
  const Nanoseconds expected(static_cast<std::int64_t>(most / packets_per_second_ * 1e9));
  std::vector<WorkItem> work;
  for (const auto& entry : by_nic_) {
    const auto& [nic, indices] = entry;
    datapath::PingRequest request{.run = in_->run, .batch = batch_, .busy_poll = in_->options.busy_poll};
    PeerList peers;
    for (const std::size_t i : indices) {
      const auto& [ping, count] = pings_[i];
      request.specs.push_back(
          {peers.index_of(ping.pair.dst, in_->addresses), ping.label, ping.back_label, count, size_});
    }
    request.peers = std::move(peers).take();
    // All take as long as the one that sends most: a fault that comes and goes meets all of them.
    request.pace.packets_per_second = packets_per_second_ * packets_of(entry) / most;
    // A prober that never sleeps does not catch up with what it missed.
    const auto longest = expected * (request.busy_poll ? 2 : 1);
    work.push_back({nic, longest + request.pace.answer_wait + in_->options.slack(), std::move(request)});
  }
  return work;
}

std::vector<WorkItem> PingStage::receipt_work() {
  std::set<PortId> receivers;
  for (const auto& [nic, tallies] : tallies_)
    for (const std::size_t i : by_nic_[nic]) receivers.insert(pings_[i].ping.pair.dst);
  std::vector<WorkItem> work;
  for (const PortId nic : receivers)
    if (results_->takes_part(nic)) work.push_back({nic, kReceiptLimit, ReceivedQuery{batch_}});
  return work;
}

void PingStage::take(const WorkItem& item, const TaskAnswer* answer) {
  if (!answer) return;
  if (const auto* tallies = std::get_if<std::vector<datapath::PingTally>>(answer))
    tallies_[item.nic] = *tallies;
  if (const auto* receipts = std::get_if<std::vector<datapath::ReceivedTally>>(answer))
    receipts_[item.nic] = *receipts;
}

void PingStage::conclude() {
  std::map<PortId, ReceiptIndex> index;
  for (const auto& [receiver, receipts] : receipts_) {
    auto& by_key = index[receiver];
    for (const datapath::ReceivedTally& tally : receipts)
      if (tally.batch == batch_) by_key[receipt_key(tally.from, tally.spec)] = &tally;
  }
  begin_on_clock();
  std::vector<Reported> told;
  for (const auto& [nic, tallies] : tallies_)
    for (const datapath::PingTally& tally : tallies) {
      if (tally.spec >= by_nic_[nic].size()) continue;
      const plan::PlannedPing& ping = pings_[by_nic_[nic][tally.spec]].ping;
      if (tally.refused) {
        note_refusal(in_->fabric, *results_, nic, ping.pair.dst, *tally.refused);
        continue;
      }
      const auto receiver = index.find(ping.pair.dst);
      if (receiver == index.end()) continue;  // nobody to say what arrived: no evidence
      const auto at = receiver->second.find(receipt_key(nic, tally.spec));
      told.push_back({&ping, &tally, at == receiver->second.end() ? nullptr : at->second});
    }
  observe_all(told);
  excuse();
  tallies_.clear();
  receipts_.clear();
}

void PingStage::begin_on_clock() {
  std::map<PortId, Nanoseconds> first_sends;
  for (const auto& [nic, tallies] : tallies_)
    for (const datapath::PingTally& tally : tallies) {
      if (!tally.window) continue;
      const auto [first, is_new] = first_sends.try_emplace(nic, tally.window->start);
      if (!is_new) first->second = std::min(first->second, tally.window->start);
    }
  results_->clock.begin_wave(first_sends);
}

/// What contradicts itself is no evidence, and nothing that its culprit says.
void PingStage::observe_all(const std::vector<Reported>& told) {
  std::vector<Contradiction> contradictions;
  for (const auto& [ping, sent, received] : told)
    if (auto what = contradiction_of(*sent, received))
      contradictions.push_back({ping->pair.src, ping->pair.dst, std::move(*what)});
  const auto culprits = note_contradictions(in_->fabric, *results_, std::move(contradictions));
  for (const auto& [ping, sent, received] : told)
    if (!culprits.contains(ping->pair.src) && !culprits.contains(ping->pair.dst) &&
        !contradiction_of(*sent, received))
      observe(*ping, *sent, received);
}

/// What hosts dropped unread is no loss of the fabric.
void PingStage::excuse() {
  auto& probes = results_->observations.probes;
  for (const auto& [nic, rows] : heard_at_) {
    if (const auto receipts = receipts_.find(nic); receipts != receipts_.end())
      share_out(dropped_by_host(receipts->second), rows, probes);
  }
  for (const auto& [nic, rows] : echoed_to_) share_out(dropped_by_host(tallies_[nic]), rows, probes);
  heard_at_.clear();
  echoed_to_.clear();
}

void PingStage::observe(const plan::PlannedPing& ping, const datapath::PingTally& tally,
                        const datapath::ReceivedTally* received) {
  if (tally.sent == 0) return;
  const std::uint64_t arrived = received ? received->packets : 0;
  // A packet that came damaged came: it is no loss, and no one answers it.
  const std::uint64_t corrupt = received ? received->corrupt : 0;
  const std::uint64_t lost = tally.sent - arrived - corrupt;
  const auto window = tally.window ? results_->clock.window(ping.pair.src, *tally.window) : std::nullopt;
  const auto lost_there = missing(received, tally.sent);
  const LabelledPair there{ping.pair.src, ping.pair.dst, ping.label};
  heard_at_[ping.pair.dst].push_back(results_->observations.probes.size());
  results_->observations.probes.push_back({.path = ping.path,
                                           .sent = tally.sent,
                                           .lost = lost,
                                           .size = size_,
                                           .corrupt = corrupt,
                                           .window = window,
                                           .runs = if_of(lost, lost_there.value_or(std::vector<LossRun>())),
                                           .pair = there});
  results_->sent += tally.sent;
  results_->lost += lost;
  const std::uint64_t echoed = received ? arrived - received->unsent : 0;
  if (!ping.back || echoed == 0) return;
  const std::uint64_t answered = tally.answered;
  const std::uint64_t damaged = tally.corrupt;
  const std::uint64_t missed = echoed - answered - damaged;
  const std::uint64_t held = held_back(missed, tally, received);
  const std::uint64_t lost_back = missed - held;
  echoed_to_[ping.pair.src].push_back(results_->observations.probes.size());
  results_->observations.probes.push_back(
      {.path = *ping.back,
       .sent = echoed - held,
       .lost = lost_back,
       .size = size_,
       .corrupt = damaged,
       .held = held,
       .window = window,
       .runs = lost_there && held == 0 ? if_of(lost_back, lost_on_the_way_back(*lost_there, tally.unanswered))
                                       : std::vector<LossRun>(),
       .pair = LabelledPair{ping.pair.dst, ping.pair.src, ping.back_label}});
  results_->sent += echoed - held;
  results_->lost += lost_back;
  if (tally.delays) {
    HostDelays& prober = results_->delays[ping.pair.src];
    HostDelays& responder = results_->delays[ping.pair.dst];
    prober.prober.push_back(tally.delays->prober);
    prober.whole.push_back(tally.delays->whole);
    responder.responder.push_back(tally.delays->responder);
    for (HostDelays* host : {&prober, &responder})
      host->by_hardware = host->by_hardware && tally.delays->by_hardware;
  }
  if (tally.rtt && in_->options.round_trips_count)
    results_->observations.probes.push_back({.path = ping.path,
                                             .back = ping.back,
                                             .size = size_,
                                             .rtt = tally.rtt,
                                             .window = window,
                                             .pair = there});
}

}  // namespace weft::session
