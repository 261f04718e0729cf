// CudaLibrary: the shared module with the CUDA code (cuda_module.h), loaded when it is first asked for. weft
// itself needs no CUDA: where the module, the driver or a device is absent, what one gets is an Error that
// says which. Immutable after loading; freely shared between threads.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "probes/gpu/cuda_module.h"
#include "topology/base/result.hpp"
#include "topology/base/units.hpp"

namespace weft::gpu {

/// The module's file name; it is installed beside the program.
inline constexpr const char* kCudaModuleName = "libweft_cuda.so";

struct CudaDevice {
  int index = 0;  // as CUDA counts
  std::string name;
  std::string pci;  // 0000:18:00.0
  Bytes memory;
  bool exports_dma_buf = false;
};

class CudaLibrary {
 public:
  /// Errors: absent (no such file: this build has no CUDA part), not_supported (of another build).
  static Result<std::shared_ptr<const CudaLibrary>> load(const std::filesystem::path& file);
  ~CudaLibrary();
  CudaLibrary(const CudaLibrary&) = delete;
  CudaLibrary& operator=(const CudaLibrary&) = delete;

  /// At least one; errors: absent (no driver, no device), not_supported (a driver that is too old).
  Result<std::vector<CudaDevice>> devices() const;

  decltype(&weft_cuda_device_count) device_count = nullptr;
  decltype(&weft_cuda_describe) describe = nullptr;
  decltype(&weft_cuda_open) open = nullptr;
  decltype(&weft_cuda_close) close = nullptr;
  decltype(&weft_cuda_allocate) allocate = nullptr;
  decltype(&weft_cuda_free) free = nullptr;
  decltype(&weft_cuda_dma_buf) dma_buf = nullptr;
  decltype(&weft_cuda_fill) fill = nullptr;
  decltype(&weft_cuda_verify) verify = nullptr;
  decltype(&weft_cuda_copy) copy = nullptr;

 private:
  explicit CudaLibrary(void* handle) : handle_(handle) {}
  Result<void> look_up(const std::filesystem::path& file);
  void* handle_;
};

/// What one of the module's functions answered, as a Result.
Result<void> cuda_result(int kind, const WeftCudaError& error);

}  // namespace weft::gpu
