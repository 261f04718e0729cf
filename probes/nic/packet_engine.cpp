#include "probes/nic/packet_engine.hpp"

#include <thread>

#include "probes/datapath/flow_sender.hpp"
#include "probes/datapath/flow_trips.hpp"
#include "probes/datapath/prober.hpp"
#include "probes/datapath/transfer_sender.hpp"
#include "probes/nic/kernel_next_hops.hpp"

namespace weft::nic {
namespace {

/// What has been opened, before there is an engine to hold it.
struct Parts {
  datapath::LocalNic nic;
  PacketPorts ports;
  os::FileDescriptor roce_port;
  KernelNextHops prober_hops;
  KernelNextHops sender_hops;
};

class PortEngine final : public PacketEngine {
 public:
  PortEngine(Parts parts, const packet::RunSecrets& secrets, PortId self, datapath::SharedNics nics)
      : parts_(std::move(parts)),
        secrets_(secrets),
        nics_(std::move(nics)),
        prober_(*parts_.ports.prober, parts_.prober_hops, parts_.nic, secrets_, self),
        sender_(*parts_.ports.sender, parts_.sender_hops, parts_.nic, secrets_, self),
        transfers_(*parts_.ports.prober, parts_.prober_hops, parts_.nic, secrets_, self),
        responder_(*parts_.ports.responder, parts_.nic, secrets_, *nics_),
        thread_([this](std::stop_token stop) { responder_.run(stop); }) {}

  Result<std::vector<datapath::HopAnswer>> trace(const datapath::TraceRequest& request,
                                                 std::stop_token stop) override {
    return prober_.trace(request, stop);
  }
  Result<std::vector<datapath::PingTally>> ping(const datapath::PingRequest& request,
                                                std::stop_token stop) override {
    return prober_.ping(request, stop);
  }
  Result<std::vector<datapath::ReceivedTally>> received(BatchId batch) override {
    return responder_.received(batch);
  }
  Result<std::vector<datapath::FlowTally>> run(const datapath::FlowRequest& request,
                                               std::stop_token stop) override {
    const auto trips = datapath::trip_request(request);
    if (!trips) return sender_.run(request, stop);
    // The prober's port is its own, so neither waits for the other. Without its probes a flow is a flow
    // still.
    Result<std::vector<datapath::PingTally>> pings;
    std::jthread prober([&] { pings = prober_.ping(trips->pings, stop, false); });
    auto flows = sender_.run(request, stop);
    prober.join();
    if (flows && pings) datapath::add_trips(*trips, *pings, *flows);
    return flows;
  }
  Result<std::vector<datapath::TransferTally>> transfer(const datapath::TransferRequest& request,
                                                        std::stop_token stop) override {
    return transfers_.run(request, stop);
  }
  datapath::ResponderRejects rejects() const override { return responder_.rejects(); }

 private:
  Parts parts_;
  packet::RunSecrets secrets_;
  datapath::SharedNics nics_;
  datapath::Prober prober_;
  datapath::FlowSender sender_;
  datapath::TransferSender transfers_;  // on the prober's port, which takes echoes
  datapath::ResponderLoop responder_;
  std::jthread thread_;
};

}  // namespace

Result<std::unique_ptr<PacketEngine>> make_packet_engine(const HostNic& nic, const KernelNic& kernel,
                                                         PacketPorts ports, const packet::RunSecrets& secrets,
                                                         PortId self, datapath::SharedNics nics) {
  WEFT_TRY(auto port, own_roce_port(nic));
  WEFT_TRY(auto prober_hops, KernelNextHops::open(nic, kernel));
  WEFT_TRY(auto sender_hops, KernelNextHops::open(nic, kernel));
  return std::make_unique<PortEngine>(
      Parts{kernel.local, std::move(ports), std::move(port), std::move(prober_hops), std::move(sender_hops)},
      secrets, self, std::move(nics));
}

}  // namespace weft::nic
