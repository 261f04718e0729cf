// AddressHandle: where a datagram goes and with which label. One queue pair sends to any number of them.
#pragma once

#include <memory>

#include "probes/rdma/qp_route.hpp"

namespace weft {

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

}  // namespace weft
