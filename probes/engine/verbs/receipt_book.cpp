#include "probes/engine/verbs/receipt_book.hpp"

#include <algorithm>

namespace weft::verbs {

datapath::ReceivedTally& ReceiptBook::row(BatchId batch, PortId from, std::uint32_t spec) {
  Sender& sender = senders_[from];
  // The newest is asked for most.
  auto at = std::find_if(sender.batches.rbegin(), sender.batches.rend(),
                         [&](const Batch& each) { return each.id == batch; });
  if (at == sender.batches.rend()) {
    sender.batches.push_back({batch, {}});
    at = sender.batches.rbegin();
  }
  const auto [row, is_new] = at->by_spec.try_emplace(spec, datapath::ReceivedTally{batch, from, spec});
  sender.rows += is_new ? 1 : 0;
  return row->second;
}

void ReceiptBook::make_room(PortId from, BatchId keep) {
  Sender& sender = senders_[from];
  for (auto at = sender.batches.begin(); sender.rows > most_ && at != sender.batches.end();) {
    const bool goes = at->id != keep;
    sender.rows -= goes ? at->by_spec.size() : 0;
    at = goes ? sender.batches.erase(at) : std::next(at);
  }
}

std::vector<datapath::ReceivedTally> ReceiptBook::received(BatchId batch) const {
  std::vector<datapath::ReceivedTally> rows;
  std::uint64_t dropped = 0;
  for (const auto& [from, sender] : senders_)
    for (const Batch& each : sender.batches)
      if (each.id == batch)
        for (const auto& [spec, row] : each.by_spec) rows.push_back(row), dropped += row.dropped;
  for (datapath::ReceivedTally& row : rows) row.dropped = dropped;
  return rows;
}

}  // namespace weft::verbs
