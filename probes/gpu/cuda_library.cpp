#include "probes/gpu/cuda_library.hpp"

#include <dlfcn.h>

namespace weft::gpu {
namespace {

template <class Function>
bool find(void* handle, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(handle, name));
  return function != nullptr;
}

const char* why_not() {
  const char* why = dlerror();
  return why != nullptr ? why : "no reason given";
}

}  // namespace

Result<void> cuda_result(int kind, const WeftCudaError& error) {
  switch (kind) {
    case WEFT_CUDA_DONE:
      return {};
    case WEFT_CUDA_NO_DRIVER:
    case WEFT_CUDA_NO_DEVICE:
    case WEFT_CUDA_OUT_OF_MEMORY:
      return fail(ErrorKind::absent, "{}", error.text);
    case WEFT_CUDA_OLD_DRIVER:
    case WEFT_CUDA_NOT_SUPPORTED:
      return fail(ErrorKind::not_supported, "{}", error.text);
    default:
      return fail(ErrorKind::internal, "{}", error.text);
  }
}

Result<std::shared_ptr<const CudaLibrary>> CudaLibrary::load(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::exists(file, error))
    return fail(ErrorKind::absent,
                "{} is not there: this build has no CUDA part; build it on a machine with the CUDA toolkit",
                file.string());
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr)
    return fail(ErrorKind::not_supported, "cannot load {}: {}", file.string(), why_not());
  const std::shared_ptr<CudaLibrary> library(new CudaLibrary(handle));
  WEFT_TRY_VOID(library->look_up(file));
  return library;
}

CudaLibrary::~CudaLibrary() { dlclose(handle_); }

Result<void> CudaLibrary::look_up(const std::filesystem::path& file) {
  decltype(&weft_cuda_interface) interface = nullptr;
  if (!find(handle_, "weft_cuda_interface", interface) || interface() != WEFT_CUDA_INTERFACE)
    return fail(ErrorKind::not_supported, "{} belongs to another build of weft: build both together",
                file.string());
  const bool all = find(handle_, "weft_cuda_device_count", device_count) &&
                   find(handle_, "weft_cuda_describe", describe) && find(handle_, "weft_cuda_open", open) &&
                   find(handle_, "weft_cuda_close", close) && find(handle_, "weft_cuda_allocate", allocate) &&
                   find(handle_, "weft_cuda_free", free) && find(handle_, "weft_cuda_dma_buf", dma_buf) &&
                   find(handle_, "weft_cuda_fill", fill) && find(handle_, "weft_cuda_verify", verify) &&
                   find(handle_, "weft_cuda_copy", copy);
  if (!all) return fail(ErrorKind::not_supported, "{} lacks a function: {}", file.string(), why_not());
  return {};
}

Result<std::vector<CudaDevice>> CudaLibrary::devices() const {
  WeftCudaError error{};
  int count = 0;
  WEFT_TRY_VOID(cuda_result(device_count(&count, &error), error));
  if (count == 0) return fail(ErrorKind::absent, "no CUDA device: the driver is there but shows none");
  std::vector<CudaDevice> devices;
  for (int index = 0; index < count; ++index) {
    WeftCudaDevice device{};
    WEFT_TRY_VOID(cuda_result(describe(index, &device, &error), error));
    devices.push_back({index, device.name, device.pci, Bytes(static_cast<std::int64_t>(device.memory)),
                       device.exports_dma_buf != 0});
  }
  return devices;
}

}  // namespace weft::gpu
