#include "probes/engine/raw/raw_engine.hpp"

#include "probes/datapath/prober.hpp"
#include "probes/engine/raw/packet_socket.hpp"
#include "probes/nic/kernel_next_hops.hpp"

namespace weft::raw {
namespace {

class RawTracer final : public datapath::ProbeEngine {
 public:
  RawTracer(const datapath::LocalNic& nic, std::unique_ptr<PacketSocket> socket, nic::KernelNextHops hops,
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
  nic::KernelNextHops hops_;
  packet::RunSecrets secrets_;
  datapath::Prober prober_;
};

}  // namespace

Result<std::unique_ptr<datapath::ProbeEngine>> open_raw_tracer(const nic::HostNic& nic,
                                                               const packet::RunSecrets& secrets,
                                                               PortId self) {
  WEFT_TRY(const auto kernel, look_up_nic(nic));
  WEFT_TRY(auto socket, PacketSocket::open(nic, kernel, nic::PacketRole::prober));
  WEFT_TRY(auto hops, nic::KernelNextHops::open(nic, kernel));
  return std::make_unique<RawTracer>(kernel.local, std::move(socket), std::move(hops), secrets, self);
}

Result<std::unique_ptr<nic::PacketEngine>> open_raw_engine(const nic::HostNic& nic,
                                                           const packet::RunSecrets& secrets, PortId self,
                                                           datapath::SharedNics nics) {
  WEFT_TRY(const auto kernel, nic::look_up_nic(nic));
  nic::PacketPorts ports;
  WEFT_TRY(ports.prober, PacketSocket::open(nic, kernel, nic::PacketRole::prober));
  WEFT_TRY(ports.sender, PacketSocket::open(nic, kernel, nic::PacketRole::sender));
  WEFT_TRY(ports.responder, PacketSocket::open(nic, kernel, nic::PacketRole::responder));
  return make_packet_engine(nic, kernel, std::move(ports), secrets, self, std::move(nics));
}

}  // namespace weft::raw
