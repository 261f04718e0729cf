// The way from a queue pair to another: the label as a DLID, what the device must be told of the far end, and
// for datagrams the address handle made of it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "probes/rdma/verbs_device.hpp"
#include "topology/base/ids.hpp"
#include "topology/base/result.hpp"
#include "topology/model/infiniband.hpp"
#include "topology/model/path.hpp"

namespace weft::rdma {

/// Which queue a packet takes in every switch.
struct VerbsTraffic {
  std::uint8_t traffic_class = 0;
  std::uint8_t service_level = 0;
};

/// The far end, and how to get there.
struct QpRoute {
  PortAddress to;
  QpNum qp;
  std::uint32_t first_psn = 0;  // of what comes from there, where connected
  std::uint32_t queue_key = 0;  // that it takes datagrams with
  /// RoCE: the UDP source port; InfiniBand: the DLID, of which only the path bits are ours. Absent: the
  /// device chooses.
  std::optional<PathLabel> label;
  std::optional<PathLabel> back_label;  // of what the far end sends us
  VerbsTraffic traffic;
  Bytes mtu = Bytes(1024);
  ReadLimits reads = {};  // agreed with the far end
  /// 4.096 us * 2^this until a packet counts as lost (ibv_modify_qp(3)).
  std::uint8_t timeout_exponent = 14;
};

/// Error: invalid_input (a label that is no UDP port; InfiniBand: none of the port's LIDs).
Result<ibv_ah_attr> address_vector(const VerbsDevice& device, const QpRoute& route);

/// Where a datagram goes and with which label. One queue pair sends to any number of them.
class AddressHandle {
 public:
  /// Errors: those of address_vector, and what the device refused.
  static Result<std::unique_ptr<AddressHandle>> make(std::shared_ptr<const VerbsDevice> device,
                                                     const QpRoute& route);
  ~AddressHandle();
  AddressHandle(const AddressHandle&) = delete;
  AddressHandle& operator=(const AddressHandle&) = delete;

  ibv_ah* get() const { return handle_; }
  QpNum qp() const { return qp_; }
  std::uint32_t queue_key() const { return queue_key_; }

 private:
  AddressHandle(std::shared_ptr<const VerbsDevice> device, ibv_ah* handle, const QpRoute& route)
      : device_(std::move(device)), handle_(handle), qp_(route.qp), queue_key_(route.queue_key) {}
  std::shared_ptr<const VerbsDevice> device_;
  ibv_ah* handle_;
  QpNum qp_;
  std::uint32_t queue_key_;
};

}  // namespace weft::rdma
