#include "probes/engine/sim/sim_fabric.hpp"

#include "probes/engine/sim/sim_ping.hpp"
#include "probes/engine/sim/sim_schedule.hpp"
#include "probes/engine/sim/sim_trace.hpp"
#include "topology/base/check.hpp"

namespace weft {

std::shared_ptr<SimFabric> SimFabric::make(const Fabric& fabric, const AddressBook& addresses,
                                           const SimOptions& options) {
  return std::shared_ptr<SimFabric>(new SimFabric(fabric, addresses, options));
}

Nanoseconds SimFabric::begin(BatchId batch, Nanoseconds length) {
  const std::lock_guard lock(mutex_);
  return ledger_.begin(batch, length);
}

std::shared_ptr<SimNic> SimFabric::engine(PortId nic) {
  WEFT_CHECK(world_.fabric().is_host(world_.fabric().port(nic).node) && world_.fabric().port(nic).link);
  return std::make_shared<SimNic>(shared_from_this(), nic);
}

Result<std::vector<HopAnswer>> SimNic::trace(const TraceRequest& request, std::stop_token stop) {
  const Nanoseconds begin = fabric_->begin(request.batch, length_of(request));
  return simulate_trace(fabric_->world_, nic_, request, begin, std::move(stop));
}

Result<std::vector<PingTally>> SimNic::ping(const PingRequest& request, std::stop_token stop) {
  const Nanoseconds begin = fabric_->begin(request.batch, length_of(request));
  auto result = simulate_ping(fabric_->world_, nic_, request, begin, std::move(stop));
  const std::lock_guard lock(fabric_->mutex_);
  fabric_->ledger_.add(request.batch, std::move(result.receipts));
  return std::move(result.tallies);
}

Result<std::vector<ReceivedTally>> SimNic::received(BatchId batch) {
  const std::lock_guard lock(fabric_->mutex_);
  return fabric_->ledger_.received(batch, nic_);
}

Result<std::vector<FlowTally>> SimNic::run(const FlowRequest& request, std::stop_token) {
  const Nanoseconds begin = fabric_->begin(request.batch, request.duration);
  auto started = start_flows(fabric_->world_, nic_, request, begin);
  const std::lock_guard lock(fabric_->mutex_);
  fabric_->ledger_.add(request.batch, std::move(started.flows));
  return std::move(started.tallies);
}

}  // namespace weft
