#include "probes/rdma/qp_route.hpp"

#include <infiniband/verbs.h>

#include <cerrno>
#include <cstring>

#include "probes/rdma/relabel.hpp"

namespace weft::rdma {
namespace {

constexpr std::uint8_t kHopLimit = 64;
}  // namespace

Result<ibv_ah_attr> address_vector(const VerbsDevice& device, const QpRoute& route) {
  ibv_ah_attr to{};
  to.port_num = device.port();
  to.sl = route.traffic.service_level;
  to.grh.hop_limit = kHopLimit;
  to.grh.sgid_index = device.gid_index();
  to.grh.traffic_class = route.traffic.traffic_class;
  std::memcpy(to.grh.dgid.raw, route.to.gid.data(), route.to.gid.size());
  if (!device.is_infiniband()) {
    to.is_global = 1;
    if (route.label) WEFT_TRY_VOID(set_label(to, LinkKind::ethernet, *route.label, std::nullopt));
    return to;
  }
  WEFT_TRY(const auto lids,
           dlid_route(route.to.lids(), route.label, device.address().lids(), route.back_label));
  to.dlid = lids.dlid.value();
  to.src_path_bits = lids.src_path_bits;
  return to;
}

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

}  // namespace weft::rdma
