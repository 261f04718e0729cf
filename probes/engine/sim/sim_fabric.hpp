// SimFabric: the simulator. Hands out engines for its NICs that share one fabric in arithmetic; any number of
// them, each a few bytes. Nothing sleeps: time is simulated. The requests of one batch begin together, a new
// batch when all that was asked before it is over; packets go at their request's pace. Answers follow from
// the seed and the requests alone, not from the order of calls, except that the flows of a load round share
// the fabric with those that ran before someone asked what arrived: run the senders of a round first, then
// ask the receivers; and that switches which limit their answers count the traces of a batch that came or
// were expected before. Engines may be used by several threads.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "probes/datapath/flow_engine.hpp"
#include "probes/datapath/probe_engine.hpp"
#include "probes/engine/sim/sim_ledger.hpp"

namespace weft::sim {

/// The engine of one simulated NIC, for probes and for load.
class SimNic final : public datapath::ProbeEngine, public datapath::FlowEngine {
 public:
  SimNic(std::shared_ptr<class SimFabric> fabric, PortId nic) : fabric_(std::move(fabric)), nic_(nic) {}
  /// That this request will come: switches share their answers among all requests of a batch that are
  /// expected, or came before. Without it a request counts from when it comes.
  void expect(const datapath::TraceRequest& request);
  /// That these flows will run: the probes beside the flows of a batch wait behind all flows of the batch
  /// that are expected, or came before.
  void expect(const datapath::FlowRequest& request);
  Result<std::vector<datapath::HopAnswer>> trace(const datapath::TraceRequest& request,
                                                 std::stop_token stop) override;
  Result<std::vector<datapath::PingTally>> ping(const datapath::PingRequest& request,
                                                std::stop_token stop) override;
  Result<std::vector<datapath::ReceivedTally>> received(BatchId batch) override;
  Result<std::vector<datapath::FlowTally>> run(const datapath::FlowRequest& request,
                                               std::stop_token stop) override;

 private:
  std::shared_ptr<SimFabric> fabric_;
  PortId nic_;
};

class SimFabric : public std::enable_shared_from_this<SimFabric> {
 public:
  /// `fabric` and `addresses` must outlive the simulator and its engines.
  static std::shared_ptr<SimFabric> make(const Fabric& fabric, const AddressBook& addresses,
                                         const SimOptions& options);

  /// Precondition: `nic` is a NIC of the fabric.
  std::shared_ptr<SimNic> engine(PortId nic);
  const SimWorld& world() const { return world_; }

 private:
  friend class SimNic;
  SimFabric(const Fabric& fabric, const AddressBook& addresses, const SimOptions& options)
      : world_(fabric, addresses, options), ledger_(world_) {}

  Nanoseconds begin(BatchId batch, Nanoseconds length);
  void add_askings(PortId nic, const datapath::TraceRequest& request);
  void expect(PortId nic, const datapath::TraceRequest& request);
  /// How often each switch is asked per second by all requests of this batch; empty: no switch counts.
  std::unordered_map<NodeId, double> take_askings(PortId nic, const datapath::TraceRequest& request);

  void expect(PortId nic, const datapath::FlowRequest& request);
  /// The channels under all flows of this batch that are expected or came, those of the request among them.
  std::shared_ptr<const ChannelStates> channels_beside(PortId nic, const datapath::FlowRequest& request);

  SimWorld world_;
  std::mutex mutex_;  // guards all below
  SimLedger ledger_;
  std::optional<BatchId> asked_of_;  // the latest batch with traces
  std::unordered_map<NodeId, double> askings_;
  std::unordered_map<PortId, unsigned> expected_;  // requests that did not come yet
  /// The latest batch of flows with probes beside them.
  struct LoadedRound {
    BatchId batch;
    std::vector<SimFlow> flows;
    std::unordered_set<PortId> senders;                       // whose flows these are
    std::shared_ptr<const ChannelStates> channels = nullptr;  // under these flows; null: not known yet
  };
  std::optional<LoadedRound> loaded_;
};

}  // namespace weft::sim
