// SimLedger: what every NIC received, by batch. Load is settled when someone first asks what arrived, so that
// all flows of a round, which its senders start one after the other, share the fabric. It keeps the
// simulator's clock too: the requests of one batch begin together, batches one after the other. Not
// thread-safe.
#pragma once

#include <deque>
#include <unordered_map>
#include <vector>

#include "probes/engine/sim/sim_load.hpp"

namespace weft::sim {

class SimLedger {
 public:
  explicit SimLedger(const SimWorld& world) : world_(&world) {}

  /// When a batch begins on the simulator's clock: when everything that was asked for before it is over. A
  /// request of it takes `length`.
  Nanoseconds begin(BatchId batch, Nanoseconds length);
  void add(BatchId batch, std::vector<SimReceipt> receipts);
  void add(BatchId batch, std::vector<SimFlow> flows);
  /// By sender, then spec.
  std::vector<datapath::ReceivedTally> received(BatchId batch, PortId at);

 private:
  using ByReceiver = std::unordered_map<PortId, std::vector<SimReceipt>>;
  struct Batch {
    ByReceiver probes;
    std::vector<SimFlow> flows;
    ByReceiver delivered;  // of `flows`
    bool settled = true;
  };
  Batch& open(BatchId batch);
  void settle(BatchId id, Batch& batch) const;

  const SimWorld* world_;
  std::unordered_map<BatchId, Batch> batches_;
  std::deque<BatchId> oldest_first_;
  std::unordered_map<BatchId, Nanoseconds> begins_;  // of all batches ever
  Nanoseconds end_{};                                // of the one that ends last
};

}  // namespace weft::sim
