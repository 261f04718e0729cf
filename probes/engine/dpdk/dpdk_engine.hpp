// The engine of one NIC over a device of DPDK, beside the raw engine: the same packets by another way. Needs
// CAP_NET_RAW and the module libweft_dpdk.so, which is loaded then. DPDK starts with the first engine of a
// process and stays; engines come and go, from any thread. Who may call what when: PacketEngine.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "probes/engine/dpdk/dpdk_arguments.hpp"
#include "probes/nic/packet_engine.hpp"

namespace weft::dpdk {

/// The module's file name.
inline constexpr const char* kDpdkModuleName = "libweft_dpdk.so";

struct DpdkOptions {
  DpdkArguments arguments;
  std::filesystem::path module;
};

struct DpdkEngine {
  std::unique_ptr<nic::PacketEngine> engine;
  std::string uses;  // in words
};

/// An engine for `nic`, as open_raw_engine opens one. Errors: those of it, and of DPDK itself, which blame no
/// host: not_supported (this build has none, the module is not installed, DPDK does not start or opens no
/// device), usage (no device for this NIC), conflict (it was started with other arguments).
Result<DpdkEngine> open_dpdk_engine(const nic::HostNic& nic, const DpdkOptions& options,
                                    const packet::RunSecrets& secrets, PortId self,
                                    datapath::SharedNics nics);

}  // namespace weft::dpdk
