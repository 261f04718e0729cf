#include "probes/rdma/qp_route.hpp"

#include <infiniband/verbs.h>

#include <cerrno>
#include <cstring>

#include "probes/packet/roce.hpp"

namespace weft::rdma {
namespace {

constexpr std::uint8_t kHopLimit = 64;
constexpr std::uint32_t kMaxPort = 65'535;

constexpr std::uint8_t kMaxLmc = 7;  // IBTA vol. 1, PortInfo: three bits

/// The path bits by which a label names one of a port's LIDs.
Result<std::uint8_t> path_bits(LidRange port, std::optional<PathLabel> label) {
  if (port.lmc > kMaxLmc) return fail(ErrorKind::invalid_input, "an LMC of {}: at most 7", port.lmc);
  if (!label) return std::uint8_t{0};
  const std::uint32_t first = port.base.value();
  if (label->value() < first || label->value() >= port.end())
    return fail(ErrorKind::invalid_input, "label {} is no LID of the port: it has {} to {}", label->value(),
                first, port.end() - 1);
  return static_cast<std::uint8_t>(label->value() - first);
}

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
    if (route.label) WEFT_TRY_VOID(set_label(to, *route.label, std::nullopt));
    return to;
  }
  WEFT_TRY(const auto lids,
           dlid_route(route.to.lids(), route.label, device.address().lids(), route.back_label));
  to.dlid = lids.dlid.value();
  to.src_path_bits = lids.src_path_bits;
  return to;
}

Result<void> set_label(ibv_ah_attr& to, PathLabel label, std::optional<LidRange> peer) {
  if (peer) {
    WEFT_TRY(const auto bits, path_bits(*peer, label));
    to.dlid = static_cast<std::uint16_t>(peer->base.value() + bits);
    return {};
  }
  if (to.dlid != 0)  // 0 on RoCE
    return fail(ErrorKind::invalid_input, "label {}: the LIDs of the peer's port are needed on InfiniBand",
                label.value());
  if (label.value() > kMaxPort)
    return fail(ErrorKind::invalid_input, "label {} is no UDP port", label.value());
  to.grh.flow_label = packet::flow_label_for(UdpPort(static_cast<std::uint16_t>(label.value())));
  return {};
}

Result<DlidRoute> dlid_route(LidRange peer, std::optional<PathLabel> label, LidRange own,
                             std::optional<PathLabel> back_label) {
  WEFT_TRY(const auto there, path_bits(peer, label));
  WEFT_TRY(const auto here, path_bits(own, back_label));
  return DlidRoute{Lid(static_cast<std::uint16_t>(peer.base.value() + there)), here};
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
