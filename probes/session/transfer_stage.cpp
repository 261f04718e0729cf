#include "probes/session/transfer_stage.hpp"

#include "probes/session/stage.hpp"

namespace weft::session {
namespace {

constexpr auto kSlack = std::chrono::seconds(5);

}  // namespace

std::vector<WorkItem> TransferStage::next_wave() {
  switch (wave_) {
    case Wave::transfers:
      wave_ = Wave::receipts;
      return transfer_work();
    case Wave::receipts:
      wave_ = Wave::done;
      return receipt_work();
    case Wave::done:
      break;
  }
  return {};
}

std::vector<WorkItem> TransferStage::transfer_work() {
  batch_ = results_->next_batch();
  for (std::size_t i = 0; i < transfers_.size(); ++i)
    if (results_->takes_part(transfers_[i].pair.src) && results_->takes_part(transfers_[i].pair.dst))
      by_nic_[transfers_[i].pair.src].push_back(i);
  std::vector<WorkItem> work;
  for (const auto& [nic, indices] : by_nic_) {
    datapath::TransferRequest request{.run = in_->run,
                                      .batch = batch_,
                                      .size = settings_.size,
                                      .window = settings_.window,
                                      .limit = settings_.limit};
    PeerList peers;
    for (const std::size_t i : indices)
      request.specs.push_back({peers.index_of(transfers_[i].pair.dst, in_->addresses), transfers_[i].label,
                               transfers_[i].back_label, transfers_[i].packets});
    request.peers = std::move(peers).take();
    // Peers that do not answer are waited for before it, and after it.
    work.push_back({nic, 3 * settings_.limit + kSlack, std::move(request)});
  }
  return work;
}

std::vector<WorkItem> TransferStage::receipt_work() {
  std::set<PortId> receivers;
  for (const auto& [nic, indices] : by_nic_)
    for (const std::size_t i : indices) receivers.insert(transfers_[i].pair.dst);
  std::vector<WorkItem> work;
  for (const PortId nic : receivers)
    if (results_->takes_part(nic)) work.push_back({nic, kSlack, ReceivedQuery{batch_}});
  return work;
}

void TransferStage::take(const WorkItem& item, const TaskAnswer* answer) {
  if (!answer) return;
  const auto outcome_of = [&](PortId nic, std::uint32_t spec) -> TransferOutcome* {
    const auto at = by_nic_.find(nic);
    return at == by_nic_.end() || spec >= at->second.size() ? nullptr : &outcomes_[at->second[spec]];
  };
  if (const auto* tallies = std::get_if<std::vector<datapath::TransferTally>>(answer))
    for (const datapath::TransferTally& tally : *tallies)
      if (auto* outcome = outcome_of(item.nic, tally.spec)) {
        outcome->sent = tally.sent;
        outcome->delivered = tally.delivered;
        outcome->elapsed = tally.elapsed;
        outcome->first = tally.first;
        outcome->took = tally.took;
        outcome->error = tally.error;
      }
  if (const auto* receipts = std::get_if<std::vector<datapath::ReceivedTally>>(answer))
    for (const datapath::ReceivedTally& tally : *receipts)
      if (auto* outcome = outcome_of(tally.from, tally.spec); outcome && tally.batch == batch_)
        outcome->received = tally.packets;
}

}  // namespace weft::session
