#include "probes/rdma/qp_route.hpp"

#include <infiniband/verbs.h>

#include <cstring>

#include "probes/packet/roce.hpp"

namespace weft {
namespace {

constexpr std::uint8_t kHopLimit = 64;
constexpr std::uint32_t kMaxPort = 65'535;

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
    if (route.label && route.label->value() > kMaxPort)
      return fail(ErrorKind::invalid_input, "label {} is no UDP port", route.label->value());
    if (route.label)
      to.grh.flow_label = flow_label_for(UdpPort(static_cast<std::uint16_t>(route.label->value())));
    return to;
  }
  WEFT_TRY(const auto lids,
           dlid_route(route.to.lids(), route.label, device.address().lids(), route.back_label));
  to.dlid = lids.dlid.value();
  to.src_path_bits = lids.src_path_bits;
  return to;
}

}  // namespace weft
