// What a kernel must offer for a lab.
#pragma once

#include "topology/model/lab_settings.hpp"

namespace weft::lab {

struct KernelFeatures {
  bool has_hash_seed = false;  // net.ipv4.fib_multipath_hash_seed: Linux 6.11 and later
};
KernelFeatures kernel_features();

/// Error not_supported: InfiniBand, or three tiers without hash seeds, where every device would make the same
/// choice and most of the fabric would never carry a packet; or settings no interface takes.
Result<void> check_lab_fits(const Fabric& fabric, const LabSettings& settings, KernelFeatures kernel);

}  // namespace weft::lab
