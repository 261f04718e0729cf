#include "probes/engine/dpdk/dpdk_engine.hpp"

namespace weft::dpdk {

Result<DpdkEngine> open_dpdk_engine(const nic::HostNic& nic, const DpdkOptions&, const packet::RunSecrets&,
                                    PortId, datapath::SharedNics) {
  return fail(ErrorKind::not_supported, "{}: built without DPDK: install libdpdk-dev and build again",
              nic.interface);
}

}  // namespace weft::dpdk
