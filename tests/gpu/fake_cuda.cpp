// A GPU made of host memory behind the interface of the CUDA module: two devices; the first gives out
// dma-bufs (a memfd stands for one), the second does not. Device 1 holds 64 MiB. The kernels' own functions
// do the work, thread by thread.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

#include "probes/gpu/cuda_module.h"
#include "probes/gpu/kernels.hpp"

struct WeftCudaContext {
  int device;
  std::map<void*, std::uint64_t> held;
};

namespace {

using namespace weft::gpu;

constexpr std::uint64_t kMemory[] = {std::uint64_t{1} << 30, std::uint64_t{64} << 20};
constexpr std::uint64_t kBlocks = 3;
constexpr std::uint32_t kThreads = 32;

int say(WeftCudaError* error, int kind, const char* text) {
  std::snprintf(error->text, sizeof error->text, "%s", text);
  return kind;
}

template <class Run>
void for_each_thread(Run run) {
  for (std::uint64_t block = 0; block < kBlocks; ++block)
    for (std::uint32_t thread = 0; thread < kThreads; ++thread) run(Place{block, kBlocks, thread, kThreads});
}

Stretch stretch_of(const void* memory, std::uint64_t bytes, std::uint64_t seed, std::uint64_t offset) {
  return {static_cast<std::byte*>(const_cast<void*>(memory)), bytes, seed, offset};
}

}  // namespace

int weft_cuda_interface(void) { return WEFT_CUDA_INTERFACE; }

/// WEFT_FAKE_CUDA_DRIVER=old: this machine's driver is too old for the module.
int weft_cuda_device_count(int* count, WeftCudaError* error) {
  if (const char* driver = std::getenv("WEFT_FAKE_CUDA_DRIVER");
      driver != nullptr && std::strcmp(driver, "old") == 0)
    return say(error, WEFT_CUDA_OLD_DRIVER, "the NVIDIA driver is too old");
  *count = 2;
  return WEFT_CUDA_DONE;
}

int weft_cuda_describe(int device, WeftCudaDevice* description, WeftCudaError* error) {
  if (device < 0 || device > 1) return say(error, WEFT_CUDA_NO_DEVICE, "no CUDA device: there are two");
  *description = {};
  std::snprintf(description->name, sizeof description->name, "fake GPU %d", device);
  std::snprintf(description->pci, sizeof description->pci, "0000:%02x:00.0", 0x18 + device);
  description->memory = kMemory[device];
  description->exports_dma_buf = device == 0;
  return WEFT_CUDA_DONE;
}

int weft_cuda_open(int device, WeftCudaContext** context, WeftCudaError* error) {
  WeftCudaDevice described;
  if (const int said = weft_cuda_describe(device, &described, error)) return said;
  *context = new WeftCudaContext{device, {}};
  return WEFT_CUDA_DONE;
}

// Memory that is still held when the device is closed is a fault of the code under test.
void weft_cuda_close(WeftCudaContext* context) {
  if (!context->held.empty()) std::abort();
  delete context;
}

int weft_cuda_allocate(WeftCudaContext* context, uint64_t bytes, void** address, WeftCudaError* error) {
  if (bytes > kMemory[context->device])
    return say(error, WEFT_CUDA_OUT_OF_MEMORY, "allocating GPU memory: out of memory");
  *address = std::aligned_alloc(4096, bytes);
  std::memset(*address, 0, bytes);
  context->held[*address] = bytes;
  return WEFT_CUDA_DONE;
}

void weft_cuda_free(WeftCudaContext* context, void* address) {
  if (context->held.erase(address) != 1) std::abort();
  std::free(address);
}

int weft_cuda_dma_buf(WeftCudaContext* context, void*, uint64_t bytes, int* descriptor,
                      WeftCudaError* error) {
  if (context->device != 0) return say(error, WEFT_CUDA_NOT_SUPPORTED, "the driver cannot");
  *descriptor = memfd_create("fake-dma-buf", 0);
  return ftruncate(*descriptor, static_cast<off_t>(bytes)) == 0 ? WEFT_CUDA_DONE
                                                                : say(error, WEFT_CUDA_FAILED, "ftruncate");
}

int weft_cuda_fill(WeftCudaContext*, void* memory, uint64_t bytes, uint64_t seed, uint64_t offset,
                   WeftCudaError*) {
  for_each_thread([&](const Place& place) {
    fill_share(stretch_of(memory, bytes, seed, offset), place, [](Vector* to, Vector value) { *to = value; });
  });
  return WEFT_CUDA_DONE;
}

int weft_cuda_verify(WeftCudaContext*, const void* memory, uint64_t bytes, uint64_t seed, uint64_t offset,
                     WeftCudaDifference* difference, WeftCudaError*) {
  Mismatch all;
  const auto stretch = stretch_of(memory, bytes, seed, offset);
  for_each_thread([&](const Place& place) {
    const Mismatch found = verify_share(stretch, place, [](const Vector* from) { return *from; });
    all.bytes += found.bytes;
    all.first = std::min(all.first, found.first);
  });
  *difference = {.bytes = all.bytes};
  std::size_t known = 0;
  for (std::uint64_t at = all.first; at < bytes && known < WEFT_CUDA_FIRST; ++at)
    if (stretch.memory[at] != std::byte{weft::packet::pattern_byte(seed, offset + at)})
      difference->first[known++] = at;
  return WEFT_CUDA_DONE;
}

int weft_cuda_copy(WeftCudaContext*, void* to, const void* from, uint64_t bytes, WeftCudaError*) {
  std::memcpy(to, from, bytes);
  return WEFT_CUDA_DONE;
}
