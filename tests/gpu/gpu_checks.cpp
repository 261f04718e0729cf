// Checks of the CUDA module, without any test library: this must build where only the CUDA toolkit is. One
// check a run: `gpu_checks NAME`; status 0 passed, 1 failed (it says where), 77 no GPU to run it on.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "probes/gpu/cuda_module.h"
#include "probes/packet/pattern.hpp"

namespace {

constexpr int kSkipped = 77;
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

#define EXPECT(condition)                                                            \
  do {                                                                               \
    if (!(condition)) {                                                              \
      std::fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
      std::exit(1);                                                                  \
    }                                                                                \
  } while (false)

WeftCudaError error{};
#define DO(call)                                                           \
  do {                                                                     \
    if ((call) != WEFT_CUDA_DONE) {                                        \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, error.text); \
      std::exit(1);                                                        \
    }                                                                      \
  } while (false)

/// The first GPU with one buffer; ends the run with 77 where there is no GPU.
struct Gpu {
  WeftCudaContext* context = nullptr;
  std::byte* memory = nullptr;
  std::uint64_t bytes;

  explicit Gpu(std::uint64_t size) : bytes(size) {
    int count = 0;
    if (const int said = weft_cuda_device_count(&count, &error); said != WEFT_CUDA_DONE || count == 0) {
      std::printf("skipped: %s\n", said != WEFT_CUDA_DONE ? error.text : "no CUDA device");
      std::exit(kSkipped);
    }
    DO(weft_cuda_open(0, &context, &error));
    void* address = nullptr;
    DO(weft_cuda_allocate(context, bytes, &address, &error));
    memory = static_cast<std::byte*>(address);
  }
  ~Gpu() {
    weft_cuda_free(context, memory);
    weft_cuda_close(context);
  }
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  std::vector<std::byte> read() {
    std::vector<std::byte> host(bytes);
    DO(weft_cuda_copy(context, host.data(), memory, bytes, &error));
    return host;
  }
  WeftCudaDifference verify(std::uint64_t size, std::uint64_t seed, std::uint64_t offset) {
    WeftCudaDifference difference{};
    DO(weft_cuda_verify(context, memory, size, seed, offset, &difference, &error));
    return difference;
  }
  void flip(std::uint64_t at) {
    std::byte byte{};
    DO(weft_cuda_copy(context, &byte, memory + at, 1, &error));
    byte ^= std::byte{0x10};
    DO(weft_cuda_copy(context, memory + at, &byte, 1, &error));
  }
};

void without_a_gpu_it_says_what_is_missing() {
  int count = -1;
  const int said = weft_cuda_device_count(&count, &error);
  if (said == WEFT_CUDA_DONE && count > 0) {
    std::printf("skipped: there is a GPU\n");
    std::exit(kSkipped);
  }
  EXPECT(said == WEFT_CUDA_NO_DRIVER || said == WEFT_CUDA_OLD_DRIVER || said == WEFT_CUDA_NO_DEVICE);
  EXPECT(std::strlen(error.text) > 10);
  WeftCudaContext* context = nullptr;
  EXPECT(weft_cuda_open(0, &context, &error) == said);
  std::printf("%s\n", error.text);
}

void the_device_fills_what_the_host_fills() {
  Gpu gpu(3 * kMiB);
  for (const std::uint64_t size : {std::uint64_t{1}, std::uint64_t{15}, std::uint64_t{16},
                                   std::uint64_t{4097}, 2 * kMiB - 3, 3 * kMiB}) {
    DO(weft_cuda_fill(gpu.context, gpu.memory, gpu.bytes, 99, 0, &error));
    DO(weft_cuda_fill(gpu.context, gpu.memory, size, 7, 4096, &error));
    std::vector<std::byte> expected(gpu.bytes);
    weft::packet::fill_pattern(expected, 99, 0);
    weft::packet::fill_pattern(std::span(expected).first(size), 7, 4096);
    EXPECT(gpu.read() == expected);  // and nothing behind it was touched
  }
}

void the_device_passes_what_the_host_wrote() {
  Gpu gpu(2 * kMiB);
  std::vector<std::byte> host(gpu.bytes);
  weft::packet::fill_pattern(host, 5, 1 << 20);
  DO(weft_cuda_copy(gpu.context, gpu.memory, host.data(), gpu.bytes, &error));
  EXPECT(gpu.verify(gpu.bytes, 5, 1 << 20).bytes == 0);
  EXPECT(gpu.verify(gpu.bytes, 6, 1 << 20).bytes > gpu.bytes / 2);
}

void flipped_bytes_are_counted_and_placed() {
  Gpu gpu(64 * kMiB + 16);
  const std::uint64_t size = 64 * kMiB + 5;
  DO(weft_cuda_fill(gpu.context, gpu.memory, size, 3, 32, &error));
  const std::vector<std::uint64_t> flips{0, 7, 8, 4095, 1234567, 33 * kMiB + 9, 64 * kMiB, size - 1};
  for (const auto at : flips) gpu.flip(at);
  gpu.flip(size);  // behind the end: none of its business
  const auto difference = gpu.verify(size, 3, 32);
  EXPECT(difference.bytes == flips.size());
  for (std::size_t i = 0; i < flips.size(); ++i) EXPECT(difference.first[i] == flips[i]);
}

void a_misaligned_pattern_is_refused() {
  Gpu gpu(2 * kMiB);
  EXPECT(weft_cuda_fill(gpu.context, gpu.memory + 8, 64, 1, 0, &error) == WEFT_CUDA_FAILED);
  EXPECT(weft_cuda_fill(gpu.context, gpu.memory, 64, 1, 8, &error) == WEFT_CUDA_FAILED);
}

void too_much_memory_is_refused_and_the_device_goes_on() {
  Gpu gpu(2 * kMiB);
  WeftCudaDevice device;
  DO(weft_cuda_describe(0, &device, &error));
  void* address = nullptr;
  EXPECT(weft_cuda_allocate(gpu.context, device.memory * 2, &address, &error) == WEFT_CUDA_OUT_OF_MEMORY);
  DO(weft_cuda_fill(gpu.context, gpu.memory, gpu.bytes, 1, 0, &error));
}

void memory_is_given_out_as_a_dma_buf() {
  Gpu gpu(4 * kMiB);
  WeftCudaDevice device;
  DO(weft_cuda_describe(0, &device, &error));
  int descriptor = -1;
  const int said = weft_cuda_dma_buf(gpu.context, gpu.memory, gpu.bytes, &descriptor, &error);
  if (said == WEFT_CUDA_NOT_SUPPORTED) {
    std::printf("skipped: %s\n", error.text);
    std::exit(kSkipped);
  }
  if (said != WEFT_CUDA_DONE) std::fprintf(stderr, "%s\n", error.text);
  EXPECT(said == WEFT_CUDA_DONE && device.exports_dma_buf);
  EXPECT(lseek(descriptor, 0, SEEK_END) == static_cast<off_t>(gpu.bytes));
  close(descriptor);
}

struct Check {
  const char* name;
  void (*run)();
};
constexpr Check kChecks[] = {
    {"without a gpu it says what is missing", without_a_gpu_it_says_what_is_missing},
    {"the device fills what the host fills", the_device_fills_what_the_host_fills},
    {"the device passes what the host wrote", the_device_passes_what_the_host_wrote},
    {"flipped bytes are counted and placed", flipped_bytes_are_counted_and_placed},
    {"a misaligned pattern is refused", a_misaligned_pattern_is_refused},
    {"too much memory is refused and the device goes on", too_much_memory_is_refused_and_the_device_goes_on},
    {"memory is given out as a dma buf", memory_is_given_out_as_a_dma_buf},
};

}  // namespace

int main(int argc, char** argv) {
  for (const Check& check : kChecks)
    if (argc == 2 && std::strcmp(argv[1], check.name) == 0) {
      check.run();
      return 0;
    }
  std::fprintf(stderr, "usage: gpu_checks NAME, one of:\n");
  for (const Check& check : kChecks) std::fprintf(stderr, "  '%s'\n", check.name);
  return 64;
}
