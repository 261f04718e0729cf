// VerbsEngine: probes, flows and transfers of one NIC over queue pairs, RoCE and InfiniBand alike. Probes are
// messages of one packet, datagrams or over unreliable connected queue pairs, echoed and counted by the far
// engine; flows and transfers go over reliable ones. Needs a PeerExchange (meet) before any of these; does
// not trace: a queue pair has no TTL.
#pragma once

#include <string>

#include "probes/datapath/flow_engine.hpp"
#include "probes/datapath/peer_exchange.hpp"
#include "probes/datapath/probe_engine.hpp"
#include "probes/datapath/run_nics.hpp"
#include "probes/engine/verbs/slots.hpp"
#include "probes/packet/run_secrets.hpp"
#include "probes/rdma/queue_pair.hpp"

namespace weft::verbs {

/// Engines that find each other by address (librdmacm), with no coordinator between them.
struct ExchangeByAddress {
  PortId self;
  packet::RunKey key;
};

struct VerbsOptions {
  rdma::GidWish gid;
  rdma::VerbsTraffic traffic;
  VerbsMemory memory;
  datapath::SharedNics nics = nullptr;  // of the run: queue pairs go to these alone
  datapath::ProbeTransport probes = datapath::ProbeTransport::by_device;
  /// Absent: what meet() gives is used.
  std::optional<ExchangeByAddress> by_address = std::nullopt;
};

class VerbsEngine : public datapath::ProbeEngine, public datapath::FlowEngine, public datapath::PeerService {
 public:
  /// The device, its GID and why, how it reaches the memory of flows; in words.
  virtual std::string uses() const = 0;
  virtual bool is_infiniband() const = 0;
};

/// By the libibverbs of this host. Errors: absent (there is none), and those of VerbsDevice::open and
/// choose_probe_kind.
Result<std::shared_ptr<VerbsEngine>> open_verbs_engine(const VerbsOptions& options);
Result<std::shared_ptr<VerbsEngine>> open_verbs_engine(std::shared_ptr<const rdma::VerbsLibrary> library,
                                                       const VerbsOptions& options);

/// Which kind of queue pair probes go by: datagrams (UD), one queue pair for all labels, where the device
/// takes the label from the address handle of each; else unreliable connections (UC), one queue pair a label.
/// By itself a device sends datagrams where it is known to label them: InfiniBand (the path bits are the
/// handle's), and ConnectX (libmlx5 makes the UDP source port of the handle's flow label:
/// mlx5_ah_set_udp_sport). Of others the operator must know. Error: not_supported (soft-RoCE, whose datagrams
/// have the port of their queue pair's number, rxe_qp_init_req, whatever the handle says).
Result<rdma::QpKind> choose_probe_kind(datapath::ProbeTransport wish, const std::string& device,
                                       rdma::RdmaDriver driver, bool is_infiniband);

}  // namespace weft::verbs
