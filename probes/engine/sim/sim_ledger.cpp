#include "probes/engine/sim/sim_ledger.hpp"

#include <algorithm>
#include <tuple>

namespace weft::sim {
namespace {

/// Batches are asked for soon after they ran, if at all; older ones make room.
constexpr std::size_t kMaxBatches = 16;

datapath::ReceivedTally tally_of(BatchId batch, const SimReceipt& receipt) {
  return {.batch = batch,
          .from = receipt.from,
          .spec = receipt.spec,
          .packets = receipt.packets,
          .bytes = receipt.packets * static_cast<std::uint64_t>(receipt.size.count()),
          .corrupt = receipt.corrupt,
          .first = receipt.start,
          .last = receipt.start + receipt.span,
          .missing = receipt.missing,
          .late = receipt.late};
}

/// Adds a tally to the one before it where both are of one stream.
void append(std::vector<datapath::ReceivedTally>& tallies, const datapath::ReceivedTally& next) {
  if (tallies.empty() || tallies.back().from != next.from || tallies.back().spec != next.spec) {
    tallies.push_back(next);
    return;
  }
  auto& same = tallies.back();
  same.packets += next.packets;
  same.bytes += next.bytes;
  same.corrupt += next.corrupt;
  same.late += next.late;
  same.last = std::max(same.last, next.last);
  same.missing.reset();
}

}  // namespace

SimLedger::Batch& SimLedger::open(BatchId id) {
  const auto [at, is_new] = batches_.try_emplace(id);
  if (!is_new) return at->second;
  oldest_first_.push_back(id);
  if (oldest_first_.size() > kMaxBatches) {
    batches_.erase(oldest_first_.front());
    oldest_first_.pop_front();
  }
  return batches_.at(id);
}

Nanoseconds SimLedger::begin(BatchId batch, Nanoseconds length) {
  const Nanoseconds start = begins_.try_emplace(batch, end_).first->second;
  end_ = std::max(end_, start + length);
  return start;
}

void SimLedger::add(BatchId batch, std::vector<SimReceipt> receipts) {
  auto& probes = open(batch).probes;
  for (auto& receipt : receipts) probes[receipt.to].push_back(std::move(receipt));
}

void SimLedger::add(BatchId id, std::vector<SimFlow> flows) {
  auto& batch = open(id);
  batch.flows.insert(batch.flows.end(), flows.begin(), flows.end());
  batch.settled = false;
}

void SimLedger::settle(BatchId id, Batch& batch) const {
  batch.delivered.clear();
  for (auto& receipt : simulate_load(*world_, id, batch.flows))
    batch.delivered[receipt.to].push_back(receipt);
  batch.settled = true;
}

std::vector<datapath::ReceivedTally> SimLedger::received(BatchId id, PortId at) {
  const auto found = batches_.find(id);
  if (found == batches_.end()) return {};
  auto& batch = found->second;
  if (!batch.settled) settle(id, batch);
  std::vector<SimReceipt> mine;
  for (const auto* part : {&batch.probes, &batch.delivered})
    if (const auto here = part->find(at); here != part->end())
      mine.insert(mine.end(), here->second.begin(), here->second.end());
  std::ranges::sort(mine, {},
                    [](const SimReceipt& r) { return std::tuple(r.from, r.spec, r.packets, r.span); });
  std::vector<datapath::ReceivedTally> tallies;
  std::uint64_t dropped = 0;
  for (const auto& receipt : mine) {
    dropped += receipt.dropped;
    if (receipt.packets + receipt.corrupt + receipt.dropped > 0) append(tallies, tally_of(id, receipt));
  }
  for (datapath::ReceivedTally& tally : tallies) tally.dropped = dropped;
  return tallies;
}

}  // namespace weft::sim
