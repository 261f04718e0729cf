// Memory of GPUs for the flows of queue pairs: GPUDirect RDMA, where driver and device can.
#pragma once

#include <filesystem>
#include <optional>

#include "probes/run/engines.hpp"
#include "topology/findings/host_inventory.hpp"

namespace weft::run {

/// libweft_cuda.so beside this very program.
std::filesystem::path cuda_module_file();

/// For each NIC the memory of the GPU nearest to it. Nothing is loaded before a NIC asks; errors then: absent
/// (no CUDA part in this build, no driver, no GPU), not_supported (a driver that is too old).
MemoryOfNic gpu_memory(std::optional<HostInventory> inventory, std::filesystem::path module);

}  // namespace weft::run
