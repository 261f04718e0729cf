#include "probes/run/gpu_memory.hpp"

#include <algorithm>

#include "probes/gpu/cuda_buffer.hpp"
#include "probes/run/agents.hpp"
#include "topology/findings/host_inventory.hpp"

namespace weft::run {
namespace {

/// The inventory's GPU as CUDA counts it; its first where the inventory knows none of CUDA's.
const gpu::CudaDevice& device_for(const std::vector<gpu::CudaDevice>& devices, const GpuInventory* near) {
  const auto same = std::ranges::find_if(
      devices, [&](const gpu::CudaDevice& device) { return near != nullptr && device.pci == near->pci; });
  return same == devices.end() ? devices.front() : *same;
}

}  // namespace

std::filesystem::path cuda_module_file() { return module_file(gpu::kCudaModuleName); }

MemoryOfNic gpu_memory(std::optional<HostInventory> inventory, std::filesystem::path module) {
  return [inventory = std::move(inventory),
          module = std::move(module)](const std::string& interface) -> Result<FlowMemory> {
    const auto library = gpu::CudaLibrary::load(module);
    if (!library) return pass_on(library, "memory of a GPU");
    const auto devices = (*library)->devices();
    if (!devices) return pass_on(devices, "memory of a GPU");
    const gpu::CudaDevice& device =
        device_for(*devices, inventory ? gpu_near(*inventory, interface) : nullptr);
    const auto context = gpu::CudaContext::open(*library, device.index);
    if (!context) return pass_on(context, device.name);
    return FlowMemory{[context = *context](Bytes size) -> Result<std::unique_ptr<packet::TransferBuffer>> {
                        WEFT_TRY(auto buffer, gpu::CudaBuffer::allocate(context, size));
                        return std::unique_ptr<packet::TransferBuffer>(std::move(buffer));
                      },
                      fmt::format("of GPU {} ({})", device.pci, device.name)};
  };
}

}  // namespace weft::run
