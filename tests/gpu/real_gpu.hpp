// The GPUs of this machine by the module that was built, for tests that skip where there is none.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "probes/gpu/cuda_buffer.hpp"
#include "tests/places.hpp"

namespace weft::gpu {

/// The context of this machine's GPU `device`, or why there is none.
inline Result<std::shared_ptr<const CudaContext>> real_gpu(int device = 0) {
  WEFT_TRY(const auto library, CudaLibrary::load(std::filesystem::path(WEFT_BINARY_DIR) / kCudaModuleName));
  return CudaContext::open(library, device);
}

}  // namespace weft::gpu
