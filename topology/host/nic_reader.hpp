// One interface of this host, read from its kernel: what counts there, and the module in its cage.
#pragma once

#include <filesystem>
#include <stop_token>

#include "topology/findings/nic_reading.hpp"
#include "topology/host/mlxlink_answer.hpp"

namespace weft::host {

/// Of the calling thread's network namespace; `sys` for what the PCI device reports (errors, temperatures,
/// RDMA counters). Reading a module takes a
/// tenth of a second and CAP_NET_ADMIN, and runs mlxlink, which `stop` ends, where that is installed. What
/// cannot be read stands in `not_read` with its reason; nothing is written or cleared.
NicReading read_nic(const std::filesystem::path& sys, const std::string& interface, bool with_module,
                    const std::stop_token& stop = {});

/// What mlxlink (`program`) says of a PCI device: counts, the histogram of corrected codewords and the
/// module; without the histogram where it refuses that one. Both take 20 s at most together. Errors: absent
/// (not installed), timeout, and those of read_mlxlink.
Result<MlxlinkAnswer> ask_mlxlink(const std::string& pci, const std::string& program = "mlxlink",
                                  const std::stop_token& stop = {});

}  // namespace weft::host
