#include "probes/engine/verbs/probe_kind.hpp"

namespace weft {

Result<QpKind> choose_probe_kind(ProbeTransport wish, const std::string& device, RdmaDriver driver,
                                 bool is_infiniband) {
  const bool labels_datagrams = is_infiniband || driver == RdmaDriver::mlx5;
  if (wish == ProbeTransport::connected) return QpKind::unreliable;
  if (wish == ProbeTransport::by_device) return labels_datagrams ? QpKind::datagram : QpKind::unreliable;
  if (driver == RdmaDriver::soft_roce)
    return fail(
        ErrorKind::not_supported,
        "{}: soft-RoCE ties the port of a datagram to its queue pair's number, so that datagrams would "
        "not take the paths of their labels: probe with --probe-transport uc (or auto)",
        device);
  return QpKind::datagram;
}

}  // namespace weft
