// The CUDA runtime is linked into the module (cudart_static) and loads the driver itself; the two driver
// calls that the runtime lacks are looked up by name, so that nothing here needs libcuda to be loaded.
#include "probes/gpu/cuda_module.h"

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>
#include <new>

#include "probes/gpu/kernels.hpp"

struct WeftCudaContext {
  int device = 0;
  unsigned fill_blocks = 0;  // of each kernel, as many as the device holds at once
  unsigned verify_blocks = 0;
  weft::gpu::Mismatch* found = nullptr;  // of the last verification, in device memory
};

namespace {

using weft::gpu::Mismatch;
using weft::gpu::Place;
using weft::gpu::Stretch;
using weft::gpu::Vector;

constexpr unsigned kThreads = 256;

__device__ Place this_place() { return {blockIdx.x, gridDim.x, threadIdx.x, blockDim.x}; }

__global__ void __launch_bounds__(kThreads) fill_kernel(Stretch stretch) {
  weft::gpu::fill_share(stretch, this_place(), [](Vector* to, Vector value) {
    __stcs(reinterpret_cast<ulonglong2*>(to), make_ulonglong2(value.low, value.high));
  });
}

__global__ void __launch_bounds__(kThreads) verify_kernel(Stretch stretch, Mismatch* found) {
  const Mismatch mine = weft::gpu::verify_share(stretch, this_place(), [](const Vector* from) {
    const ulonglong2 read = __ldcs(reinterpret_cast<const ulonglong2*>(from));
    return Vector{read.x, read.y};
  });
  if (mine.bytes == 0) return;
  atomicAdd(reinterpret_cast<unsigned long long*>(&found->bytes),
            static_cast<unsigned long long>(mine.bytes));
  atomicMin(reinterpret_cast<unsigned long long*>(&found->first),
            static_cast<unsigned long long>(mine.first));
}

int say(WeftCudaError* error, int kind, const char* what, const char* why) {
  std::snprintf(error->text, sizeof error->text, "%s: %s", what, why);
  return kind;
}

int drivers_version() {
  int version = 0;
  return cudaDriverGetVersion(&version) == cudaSuccess ? version : 0;
}

int refuse_driver(WeftCudaError* error) {
  const int driver = drivers_version();
  if (driver == 0)
    return say(error, WEFT_CUDA_NO_DRIVER, "no NVIDIA driver",
               "libcuda.so.1 was not found; install the driver of the GPU");
  std::snprintf(
      error->text, sizeof error->text,
      "the NVIDIA driver is too old: it knows CUDA %d.%d, this build needs %d.%d; update the driver",
      driver / 1000, driver % 1000 / 10, CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
  return WEFT_CUDA_OLD_DRIVER;
}

int done(cudaError_t status, const char* what, WeftCudaError* error) {
  if (status == cudaSuccess) return WEFT_CUDA_DONE;
  cudaGetLastError();  // an error that passes must not be told again of the next call
  if (status == cudaErrorInsufficientDriver || status == cudaErrorStubLibrary) return refuse_driver(error);
  if (status == cudaErrorNoDevice || status == cudaErrorInvalidDevice)
    return say(error, WEFT_CUDA_NO_DEVICE, "no CUDA device", cudaGetErrorString(status));
  if (status == cudaErrorMemoryAllocation)
    return say(error, WEFT_CUDA_OUT_OF_MEMORY, what, cudaGetErrorString(status));
  return say(error, status == cudaErrorNotSupported ? WEFT_CUDA_NOT_SUPPORTED : WEFT_CUDA_FAILED, what,
             cudaGetErrorString(status));
}

/// A call of the driver as it was in the stated CUDA version; null where the driver lacks it.
template <class Function>
Function driver_call(const char* name, unsigned version) {
  void* entry = nullptr;
  cudaDriverEntryPointQueryResult result{};
  if (cudaGetDriverEntryPointByVersion(name, &entry, version, cudaEnableDefault, &result) != cudaSuccess) {
    cudaGetLastError();
    return nullptr;
  }
  return result == cudaDriverEntryPointSuccess ? reinterpret_cast<Function>(entry) : nullptr;
}

bool exports_dma_buf(int device) {
  const auto read =
      driver_call<CUresult (*)(int*, CUdevice_attribute, CUdevice)>("cuDeviceGetAttribute", 2000);
  int yes = 0;
  return read != nullptr && read(&yes, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, device) == CUDA_SUCCESS && yes;
}

int enter(const WeftCudaContext* context, WeftCudaError* error) {
  return done(cudaSetDevice(context->device), "choosing the device", error);
}

/// How many blocks of a kernel the device holds at once, by the registers it takes. A grid of more would end
/// with a rest of blocks that leaves most of the device idle.
template <class Kernel>
cudaError_t blocks_held(Kernel kernel, int processors, unsigned* blocks) {
  int of_one = 0;
  const auto status = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&of_one, kernel, kThreads, 0);
  *blocks = static_cast<unsigned>(of_one * processors);
  return status;
}

/// Not more blocks than there are tiles.
unsigned blocks_for(unsigned most, std::uint64_t bytes) {
  const std::uint64_t tile = std::uint64_t{kThreads} * weft::gpu::kInFlight * sizeof(Vector);
  const std::uint64_t tiles = bytes / tile + 1;
  return tiles < most ? static_cast<unsigned>(tiles) : most;
}

int check_alignment(const void* memory, std::uint64_t offset, WeftCudaError* error) {
  if (reinterpret_cast<std::uintptr_t>(memory) % 16 == 0 && offset % 16 == 0) return WEFT_CUDA_DONE;
  return say(error, WEFT_CUDA_FAILED, "a pattern in GPU memory",
             "its address and its offset must be multiples of 16");
}

cudaError_t launch_fill(const WeftCudaContext* context, const Stretch& stretch) {
  fill_kernel<<<blocks_for(context->fill_blocks, stretch.bytes), kThreads>>>(stretch);
  return cudaGetLastError();
}

cudaError_t launch_verify(const WeftCudaContext* context, const Stretch& stretch) {
  verify_kernel<<<blocks_for(context->verify_blocks, stretch.bytes), kThreads>>>(stretch, context->found);
  return cudaGetLastError();
}

int verify_once(const WeftCudaContext* context, const Stretch& stretch, Mismatch* found,
                WeftCudaError* error) {
  *found = Mismatch{};
  auto status = cudaMemcpy(context->found, found, sizeof *found, cudaMemcpyHostToDevice);
  if (status == cudaSuccess) status = launch_verify(context, stretch);
  if (status == cudaSuccess)
    status = cudaMemcpy(found, context->found, sizeof *found, cudaMemcpyDeviceToHost);
  return done(status, "verifying GPU memory", error);
}

/// The first difference of `stretch` from `from` on, its end where there is none (any more: something may
/// write there meanwhile): the vector that holds `from` byte by byte on the host, what lies behind by the
/// kernel.
int next_difference(const WeftCudaContext* context, const Stretch& stretch, std::uint64_t from,
                    std::uint64_t* next, WeftCudaError* error) {
  const std::uint64_t vector_end = (from / 16 + 1) * 16;
  const std::uint64_t end = vector_end < stretch.bytes ? vector_end : stretch.bytes;
  std::uint8_t bytes[16];
  const auto status = cudaMemcpy(bytes, stretch.memory + from, end - from, cudaMemcpyDeviceToHost);
  if (status != cudaSuccess) return done(status, "reading GPU memory", error);
  for (std::uint64_t at = from; at < end; ++at)
    if (bytes[at - from] != weft::packet::pattern_byte(stretch.seed, stretch.offset + at)) {
      *next = at;
      return WEFT_CUDA_DONE;
    }
  Mismatch found;
  const Stretch rest{stretch.memory + end, stretch.bytes - end, stretch.seed, stretch.offset + end};
  const int said = verify_once(context, rest, &found, error);
  *next = found.bytes > 0 ? end + found.first : stretch.bytes;
  return said;
}

Stretch stretch_of(const void* memory, std::uint64_t bytes, std::uint64_t seed, std::uint64_t offset) {
  return {static_cast<std::byte*>(const_cast<void*>(memory)), bytes, seed, offset};
}

cudaError_t start(const WeftCudaContext* context, int work, void* memory, void* other, std::uint64_t bytes) {
  if (work == WEFT_CUDA_FILL) return launch_fill(context, stretch_of(memory, bytes, 1, 0));
  if (work == WEFT_CUDA_VERIFY) return launch_verify(context, stretch_of(memory, bytes, 1, 0));
  return cudaMemcpyAsync(other, memory, bytes, cudaMemcpyDeviceToDevice);
}

cudaError_t time_runs(const WeftCudaContext* context, int work, void* memory, void* other,
                      std::uint64_t bytes, int times, cudaEvent_t began, cudaEvent_t ended,
                      float* milliseconds) {
  auto status = start(context, work, memory, other, bytes);
  if (status == cudaSuccess) status = cudaEventRecord(began);
  for (int i = 0; i < times && status == cudaSuccess; ++i)
    status = start(context, work, memory, other, bytes);
  if (status == cudaSuccess) status = cudaEventRecord(ended);
  if (status == cudaSuccess) status = cudaEventSynchronize(ended);
  return status == cudaSuccess ? cudaEventElapsedTime(milliseconds, began, ended) : status;
}

}  // namespace

int weft_cuda_interface(void) { return WEFT_CUDA_INTERFACE; }

int weft_cuda_device_count(int* count, WeftCudaError* error) {
  return done(cudaGetDeviceCount(count), "counting CUDA devices", error);
}

int weft_cuda_describe(int device, WeftCudaDevice* description, WeftCudaError* error) {
  cudaDeviceProp properties{};
  const auto status = cudaGetDeviceProperties(&properties, device);
  if (status != cudaSuccess) return done(status, "reading the device's properties", error);
  *description = {};
  std::snprintf(description->name, sizeof description->name, "%s", properties.name);
  std::snprintf(description->pci, sizeof description->pci, "%04x:%02x:%02x.0",
                static_cast<unsigned>(properties.pciDomainID) & 0xFFFF,
                static_cast<unsigned>(properties.pciBusID) & 0xFF,
                static_cast<unsigned>(properties.pciDeviceID) & 0xFF);
  description->memory = properties.totalGlobalMem;
  description->processors = properties.multiProcessorCount;
  description->driver_cuda = drivers_version();
  description->toolkit_cuda = CUDART_VERSION;
  description->exports_dma_buf = exports_dma_buf(device);
  return WEFT_CUDA_DONE;
}

int weft_cuda_open(int device, WeftCudaContext** context, WeftCudaError* error) {
  WeftCudaDevice described;
  if (const int said = weft_cuda_describe(device, &described, error)) return said;
  auto* opened = new (std::nothrow) WeftCudaContext;
  if (opened == nullptr) return say(error, WEFT_CUDA_OUT_OF_MEMORY, "opening the device", "no host memory");
  opened->device = device;
  auto status = cudaSetDevice(device);
  if (status == cudaSuccess) status = blocks_held(fill_kernel, described.processors, &opened->fill_blocks);
  if (status == cudaSuccess)
    status = blocks_held(verify_kernel, described.processors, &opened->verify_blocks);
  if (status == cudaSuccess) status = cudaMalloc(&opened->found, sizeof *opened->found);
  if (status != cudaSuccess) {
    delete opened;
    return done(status, "opening the device", error);
  }
  *context = opened;
  return WEFT_CUDA_DONE;
}

void weft_cuda_close(WeftCudaContext* context) {
  WeftCudaError ignored;
  if (enter(context, &ignored) == WEFT_CUDA_DONE) cudaFree(context->found);
  delete context;
}

int weft_cuda_allocate(WeftCudaContext* context, uint64_t bytes, void** address, WeftCudaError* error) {
  if (const int said = enter(context, error)) return said;
  const auto status = cudaMalloc(address, bytes);
  if (status != cudaSuccess) return done(status, "allocating GPU memory", error);
  // An RDMA device reads and writes without CUDA's knowledge: copies must be complete when their call
  // returns.
  const auto set =
      driver_call<CUresult (*)(const void*, CUpointer_attribute, CUdeviceptr)>("cuPointerSetAttribute", 6000);
  const unsigned yes = 1;
  if (set != nullptr) set(&yes, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, reinterpret_cast<CUdeviceptr>(*address));
  return WEFT_CUDA_DONE;
}

void weft_cuda_free(WeftCudaContext* context, void* address) {
  WeftCudaError ignored;
  if (enter(context, &ignored) == WEFT_CUDA_DONE) cudaFree(address);
}

int weft_cuda_dma_buf(WeftCudaContext* context, void* address, uint64_t bytes, int* descriptor,
                      WeftCudaError* error) {
  if (const int said = enter(context, error)) return said;
  constexpr const char* kWhat = "giving GPU memory out as a dma-buf";
  if (!exports_dma_buf(context->device))
    return say(error, WEFT_CUDA_NOT_SUPPORTED, kWhat,
               "the driver cannot; it needs the open kernel modules and Linux 5.12 or later");
  using GetHandle = CUresult (*)(void*, CUdeviceptr, size_t, CUmemRangeHandleType, unsigned long long);
  const auto get = driver_call<GetHandle>("cuMemGetHandleForAddressRange", 11070);
  if (get == nullptr) return say(error, WEFT_CUDA_NOT_SUPPORTED, kWhat, "the driver is older than CUDA 11.7");
  const CUresult said =
      get(descriptor, reinterpret_cast<CUdeviceptr>(address), bytes, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0);
  if (said == CUDA_SUCCESS) return WEFT_CUDA_DONE;
  char number[32];
  std::snprintf(number, sizeof number, "CUDA error %d", static_cast<int>(said));
  return say(error, said == CUDA_ERROR_NOT_SUPPORTED ? WEFT_CUDA_NOT_SUPPORTED : WEFT_CUDA_FAILED, kWhat,
             number);
}

int weft_cuda_fill(WeftCudaContext* context, void* memory, uint64_t bytes, uint64_t seed, uint64_t offset,
                   WeftCudaError* error) {
  if (const int said = check_alignment(memory, offset, error)) return said;
  if (const int said = enter(context, error)) return said;
  auto status = launch_fill(context, stretch_of(memory, bytes, seed, offset));
  if (status == cudaSuccess) status = cudaDeviceSynchronize();
  return done(status, "filling GPU memory", error);
}

int weft_cuda_verify(WeftCudaContext* context, const void* memory, uint64_t bytes, uint64_t seed,
                     uint64_t offset, WeftCudaDifference* difference, WeftCudaError* error) {
  if (const int said = check_alignment(memory, offset, error)) return said;
  if (const int said = enter(context, error)) return said;
  *difference = {};
  const Stretch stretch = stretch_of(memory, bytes, seed, offset);
  Mismatch found;
  if (const int said = verify_once(context, stretch, &found, error)) return said;
  std::uint64_t next = found.bytes > 0 ? found.first : bytes;
  for (unsigned i = 0; i < WEFT_CUDA_FIRST && i < found.bytes && next < bytes; ++i) {
    difference->first[i] = next;
    difference->bytes = i + 1;
    if (difference->bytes == found.bytes || difference->bytes == WEFT_CUDA_FIRST) break;
    if (const int said = next_difference(context, stretch, next + 1, &next, error)) return said;
  }
  if (difference->bytes == WEFT_CUDA_FIRST) difference->bytes = found.bytes;
  return WEFT_CUDA_DONE;
}

int weft_cuda_copy(WeftCudaContext* context, void* to, const void* from, uint64_t bytes,
                   WeftCudaError* error) {
  if (const int said = enter(context, error)) return said;
  auto status = cudaMemcpy(to, from, bytes, cudaMemcpyDefault);
  if (status == cudaSuccess) status = cudaDeviceSynchronize();
  return done(status, "copying GPU memory", error);
}

int weft_cuda_time(WeftCudaContext* context, int work, void* memory, void* other, uint64_t bytes, int times,
                   double* milliseconds, WeftCudaError* error) {
  if (const int said = enter(context, error)) return said;
  cudaEvent_t began = nullptr;
  cudaEvent_t ended = nullptr;
  float took = 0;
  auto status = cudaEventCreate(&began);
  if (status == cudaSuccess) status = cudaEventCreate(&ended);
  if (status == cudaSuccess)
    status = time_runs(context, work, memory, other, bytes, times, began, ended, &took);
  if (began != nullptr) cudaEventDestroy(began);
  if (ended != nullptr) cudaEventDestroy(ended);
  *milliseconds = static_cast<double>(took) / times;
  return done(status, "timing GPU work", error);
}
