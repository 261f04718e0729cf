#include "probes/engine/raw/raw_engine.hpp"

#include <thread>

#include "probes/datapath/flow_sender.hpp"
#include "probes/datapath/prober.hpp"
#include "probes/datapath/responder.hpp"
#include "probes/datapath/transfer_sender.hpp"
#include "probes/engine/raw/kernel_next_hops.hpp"
#include "probes/engine/raw/packet_socket.hpp"

namespace weft::raw {
namespace {

/// What has been opened, before there is an engine to hold it.
struct Parts {
  datapath::LocalNic nic;
  os::FileDescriptor roce_port;
  std::unique_ptr<PacketSocket> prober;
  std::unique_ptr<PacketSocket> sender;
  std::unique_ptr<PacketSocket> responder;
  KernelNextHops prober_hops;
  KernelNextHops sender_hops;
};

Result<Parts> open_parts(const RawNic& nic) {
  WEFT_TRY(const auto kernel, look_up_nic(nic));
  WEFT_TRY(auto prober, PacketSocket::open(nic, kernel, PacketRole::prober));
  WEFT_TRY(auto sender, PacketSocket::open(nic, kernel, PacketRole::sender));
  WEFT_TRY(auto port, own_roce_port(nic));
  WEFT_TRY(auto responder, PacketSocket::open(nic, kernel, PacketRole::responder));
  WEFT_TRY(auto prober_hops, KernelNextHops::open(nic, kernel));
  WEFT_TRY(auto sender_hops, KernelNextHops::open(nic, kernel));
  return Parts{kernel.local,         std::move(port),        std::move(prober),     std::move(sender),
               std::move(responder), std::move(prober_hops), std::move(sender_hops)};
}

class AfPacketEngine final : public RawEngine {
 public:
  AfPacketEngine(Parts parts, const packet::RunSecrets& secrets, PortId self, datapath::SharedNics nics)
      : parts_(std::move(parts)),
        secrets_(secrets),
        nics_(std::move(nics)),
        prober_(*parts_.prober, parts_.prober_hops, parts_.nic, secrets_, self),
        sender_(*parts_.sender, parts_.sender_hops, parts_.nic, secrets_, self),
        transfers_(*parts_.prober, parts_.prober_hops, parts_.nic, secrets_, self),
        responder_(*parts_.responder, parts_.nic, secrets_, *nics_),
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
    return sender_.run(request, stop);
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
  datapath::TransferSender transfers_;  // on the prober's socket, which takes echoes
  datapath::ResponderLoop responder_;
  std::jthread thread_;
};

class RawTracer final : public datapath::ProbeEngine {
 public:
  RawTracer(const datapath::LocalNic& nic, std::unique_ptr<PacketSocket> socket, KernelNextHops hops,
            const packet::RunSecrets& secrets, PortId self)
      : nic_(nic),
        socket_(std::move(socket)),
        hops_(std::move(hops)),
        secrets_(secrets),
        prober_(*socket_, hops_, nic_, secrets_, self) {}

  Result<std::vector<datapath::HopAnswer>> trace(const datapath::TraceRequest& request,
                                                 std::stop_token stop) override {
    return prober_.trace(request, std::move(stop));
  }
  Result<std::vector<datapath::PingTally>> ping(const datapath::PingRequest&, std::stop_token) override {
    return only_traces();
  }
  Result<std::vector<datapath::ReceivedTally>> received(BatchId) override { return only_traces(); }

 private:
  static tl::unexpected<Error> only_traces() {
    return fail(ErrorKind::not_supported, "this engine only traces");
  }
  datapath::LocalNic nic_;
  std::unique_ptr<PacketSocket> socket_;
  KernelNextHops hops_;
  packet::RunSecrets secrets_;
  datapath::Prober prober_;
};

}  // namespace

Result<std::unique_ptr<datapath::ProbeEngine>> open_raw_tracer(const RawNic& nic,
                                                               const packet::RunSecrets& secrets,
                                                               PortId self) {
  WEFT_TRY(const auto kernel, look_up_nic(nic));
  WEFT_TRY(auto socket, PacketSocket::open(nic, kernel, PacketRole::prober));
  WEFT_TRY(auto hops, KernelNextHops::open(nic, kernel));
  return std::make_unique<RawTracer>(kernel.local, std::move(socket), std::move(hops), secrets, self);
}

Result<std::unique_ptr<RawEngine>> open_raw_engine(const RawNic& nic, const packet::RunSecrets& secrets,
                                                   PortId self, datapath::SharedNics nics) {
  WEFT_TRY(auto parts, open_parts(nic));
  return std::make_unique<AfPacketEngine>(std::move(parts), secrets, self, std::move(nics));
}

}  // namespace weft::raw
