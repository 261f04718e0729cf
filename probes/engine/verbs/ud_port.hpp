// UdPort: a PacketPort over one queue pair of datagrams (UD) of a RoCE NIC, for standing probes: one queue
// pair for all peers and labels, an address handle for each peer and label. Frames are packet::UdFrame. It
// sends to peers whose queue pair it knows and whose neighbour was found (next_hops()) alone: the kernel
// looks for a neighbour up to a second, and the thread that probes must not wait.
#pragma once

#include <functional>
#include <memory>

#include "probes/datapath/packet_port.hpp"
#include "probes/datapath/probe_engine.hpp"
#include "probes/packet/transfer_buffer.hpp"
#include "probes/packet/ud_frame.hpp"
#include "probes/rdma/queue_pair.hpp"

namespace weft::verbs {

struct UdPortOptions {
  rdma::GidWish gid;
  rdma::VerbsTraffic traffic;
  packet::BufferFactory memory;
  datapath::ProbeTransport probes = datapath::ProbeTransport::by_device;
};

/// send() fails, and goes on to fail, once the device ended a datagram of its own or the completion queue
/// overran: open it anew. What comes while no place to receive into is left is dropped by the device, and
/// told by overruns().
class UdPort : public datapath::PacketPort {
 public:
  /// What peers must know to reach it.
  virtual packet::UdPair pair() const = 0;
  /// The queue pairs of peers, from now on.
  virtual void know(packet::UdPairs pairs) = 0;
  /// Finds neighbours for it, in another thread. The MAC address that it gives is none: devices know it.
  virtual std::unique_ptr<datapath::NextHops> next_hops() const = 0;
};

/// By the libibverbs of this host. Errors: those of VerbsDevice::open; not_supported (an InfiniBand port,
/// whose standing probes are management datagrams; a device that does not label datagrams, or is not known
/// to; a GID that is not of the NIC's address, where peers look for it).
Result<std::unique_ptr<UdPort>> open_ud_port(const UdPortOptions& options);
Result<std::unique_ptr<UdPort>> open_ud_port(std::shared_ptr<const rdma::VerbsLibrary> library,
                                             const UdPortOptions& options);

using OpenUdPort = std::function<Result<std::unique_ptr<UdPort>>(const UdPortOptions&)>;

}  // namespace weft::verbs
