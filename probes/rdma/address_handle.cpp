#include "probes/rdma/address_handle.hpp"

#include <infiniband/verbs.h>

#include <cerrno>
#include <cstring>

namespace weft {

Result<std::unique_ptr<AddressHandle>> AddressHandle::make(std::shared_ptr<const VerbsDevice> device,
                                                           const QpRoute& route) {
  WEFT_TRY(auto to, address_vector(*device, route));
  ibv_ah* handle = device->library().create_ah(device->pd(), &to);
  if (handle == nullptr) {
    const int error = errno;
    WEFT_TRY_VOID(device->check_standing());
    return fail(ErrorKind::not_supported, "{}: no address handle: {}", device->name(), std::strerror(error));
  }
  return std::unique_ptr<AddressHandle>(new AddressHandle(std::move(device), handle, route));
}

AddressHandle::~AddressHandle() { device_->library().destroy_ah(handle_); }

}  // namespace weft
