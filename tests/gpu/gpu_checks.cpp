// Checks of the CUDA module, without any test library: this must build where only the CUDA toolkit is. One
// check a run: `gpu_checks NAME`; status 0 passed, 1 failed (it says where), 77 no GPU to run it on.
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
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

/// How many GPUs there are; ends the run with 77 where there is none.
int count_gpus() {
  int count = 0;
  const int said = weft_cuda_device_count(&count, &error);
  if (said == WEFT_CUDA_DONE && count > 0) return count;
  std::printf("skipped: %s\n", said != WEFT_CUDA_DONE ? error.text : "no CUDA device");
  std::exit(kSkipped);
}

/// A GPU, the first unless another is meant, with one buffer.
struct Gpu {
  WeftCudaContext* context = nullptr;
  std::byte* memory = nullptr;
  std::uint64_t bytes;

  explicit Gpu(std::uint64_t size, int device = 0) : bytes(size) {
    count_gpus();
    DO(weft_cuda_open(device, &context, &error));
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
  DO(weft_cuda_fill(gpu.context, gpu.memory, gpu.bytes, 9, 0, &error));
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

void every_gpu_fills_and_verifies() {
  for (int device = 0; device < count_gpus(); ++device) {
    WeftCudaDevice described;
    DO(weft_cuda_describe(device, &described, &error));
    std::printf("%s at %s, %llu MiB, %d multiprocessors, driver for CUDA %d, dma-buf %s\n", described.name,
                described.pci, static_cast<unsigned long long>(described.memory / kMiB), described.processors,
                described.driver_cuda, described.exports_dma_buf ? "yes" : "no");
    Gpu gpu(64 * kMiB, device);
    DO(weft_cuda_fill(gpu.context, gpu.memory, gpu.bytes, 11, 0, &error));
    EXPECT(gpu.verify(gpu.bytes, 11, 0).bytes == 0);
    gpu.flip(gpu.bytes / 2);
    EXPECT(gpu.verify(gpu.bytes, 11, 0).bytes == 1);
  }
}

void memory_runs_out_and_comes_back() {
  Gpu gpu(2 * kMiB);
  std::vector<void*> taken;
  for (std::uint64_t size = 1024 * kMiB; size >= 2 * kMiB; size /= 2) {
    void* address = nullptr;
    int said = WEFT_CUDA_DONE;
    while ((said = weft_cuda_allocate(gpu.context, size, &address, &error)) == WEFT_CUDA_DONE)
      taken.push_back(address);
    EXPECT(said == WEFT_CUDA_OUT_OF_MEMORY);
  }
  std::printf("%zu buffers, then: %s\n", taken.size(), error.text);
  DO(weft_cuda_fill(gpu.context, gpu.memory, gpu.bytes, 1, 0, &error));
  EXPECT(gpu.verify(gpu.bytes, 1, 0).bytes == 0);
  for (void* address : taken) weft_cuda_free(gpu.context, address);
  void* address = nullptr;
  DO(weft_cuda_allocate(gpu.context, 1024 * kMiB, &address, &error));
  weft_cuda_free(gpu.context, address);
}

/// Fills without end and says by its standard output that it does.
[[noreturn]] void fill_until_killed() {
  Gpu gpu(1024 * kMiB);
  for (std::uint64_t round = 0;; ++round) {
    DO(weft_cuda_fill(gpu.context, gpu.memory, gpu.bytes, round, 0, &error));
    if (round == 0 && write(STDOUT_FILENO, "fills", 5) != 5) std::exit(1);
  }
}

void a_process_killed_in_a_kernel_leaves_the_device_well() {
  int ends[2];
  EXPECT(pipe(ends) == 0);
  // A process that has used CUDA cannot fork and use it again: the child asks first.
  const pid_t child = fork();
  EXPECT(child >= 0);
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    fill_until_killed();
  }
  close(ends[1]);
  pollfd output{ends[0], POLLIN, 0};
  char first = 0;
  const bool told = poll(&output, 1, 60'000) == 1 && read(ends[0], &first, 1) == 1 && first == 'f';
  if (told) usleep(200'000);
  kill(child, SIGKILL);
  int status = 0;
  EXPECT(waitpid(child, &status, 0) == child);
  Gpu gpu(1024 * kMiB);
  EXPECT(told && WIFSIGNALED(status));
  DO(weft_cuda_fill(gpu.context, gpu.memory, gpu.bytes, 2, 0, &error));
  EXPECT(gpu.verify(gpu.bytes, 2, 0).bytes == 0);
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
  EXPECT(weft_cuda_dma_buf(gpu.context, gpu.memory, 4 * gpu.bytes, &descriptor, &error) != WEFT_CUDA_DONE);
  std::printf("beyond the buffer: %s\n", error.text);
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
    {"every gpu fills and verifies", every_gpu_fills_and_verifies},
    {"memory runs out and comes back", memory_runs_out_and_comes_back},
    {"a process killed in a kernel leaves the device well",
     a_process_killed_in_a_kernel_leaves_the_device_well},
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
