// The CUDA kernels against the device's own copy: bytes per second that fill writes and verify reads, as a
// share of what a device-to-device copy moves (each byte read and written counts twice). Rounds alternate,
// the figure is the median of the rounds' ratios. Needs a GPU and the CUDA toolkit, nothing else.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "probes/gpu/cuda_module.h"

namespace {

constexpr int kAbsent = 69;
constexpr int kRounds = 10;
constexpr int kRunsPerRound = 10;
// Far beyond any cache (an H200's L2 holds 60 MB), 1 ms and more a run.
constexpr std::uint64_t kBytes = std::uint64_t{4} << 30;

WeftCudaError error{};

int absent() {
  std::fprintf(stderr, "bench gpu: %s\n", error.text);
  return kAbsent;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

struct Rates {
  std::vector<double> copy, fill, verify;  // GB/s
  std::vector<double> fill_vs_copy, verify_vs_copy;
};

/// GB/s of `work`; `moved` bytes a run. Negative: it failed.
double rate(WeftCudaContext* context, int work, void* memory, void* other, double moved) {
  double milliseconds = 0;
  if (weft_cuda_time(context, work, memory, other, kBytes, kRunsPerRound, &milliseconds, &error) !=
      WEFT_CUDA_DONE)
    return -1;
  return moved / milliseconds / 1e6;
}

bool measure(WeftCudaContext* context, void* memory, void* other, Rates& rates) {
  const auto bytes = static_cast<double>(kBytes);
  for (int round = 0; round < kRounds; ++round) {
    const double copy = rate(context, WEFT_CUDA_COPY, memory, other, 2 * bytes);
    const double fill = rate(context, WEFT_CUDA_FILL, memory, other, bytes);
    const double verify = rate(context, WEFT_CUDA_VERIFY, memory, other, bytes);
    if (copy <= 0 || fill <= 0 || verify <= 0) return false;
    rates.copy.push_back(copy);
    rates.fill.push_back(fill);
    rates.verify.push_back(verify);
    rates.fill_vs_copy.push_back(fill / copy);
    rates.verify_vs_copy.push_back(verify / copy);
  }
  return true;
}

/// What was timed must also be right: the whole buffer holds the pattern and the kernel says so.
bool is_right(WeftCudaContext* context, void* memory) {
  WeftCudaDifference difference{};
  return weft_cuda_fill(context, memory, kBytes, 42, 0, &error) == WEFT_CUDA_DONE &&
         weft_cuda_verify(context, memory, kBytes, 42, 0, &difference, &error) == WEFT_CUDA_DONE &&
         difference.bytes == 0;
}

int write(const WeftCudaDevice& device, const Rates& rates) {
  const struct {
    const char* name;
    double value;
    const char* target;
  } figures[] = {{"fill_vs_copy", median(rates.fill_vs_copy), "0.80"},
                 {"verify_vs_copy", median(rates.verify_vs_copy), "0.80"},
                 {"copy_gb_per_s", median(rates.copy), ""},
                 {"fill_gb_per_s", median(rates.fill), ""},
                 {"verify_gb_per_s", median(rates.verify), ""}};
  const auto folder = std::filesystem::path(WEFT_BINARY_DIR).parent_path() / "bench";
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  std::ofstream file(folder / "gpu.json");
  file << "{\n  \"schema\": \"weft.bench/1\",\n  \"machine\": \"" << device.name << "\",\n  \"figures\": {";
  std::printf("%-34s %12s   %s\n", "figure", "measured", "to reach");
  const char* between = "\n";
  for (const auto& figure : figures) {
    std::printf("%-34s %12.4g   %s\n", figure.name, figure.value, figure.target);
    file << between << "    \"" << figure.name << "\": " << figure.value;
    between = ",\n";
  }
  file << "\n  }\n}\n";
  file.flush();
  return file ? 0 : 70;
}

}  // namespace

int main() {
  int count = 0;
  if (weft_cuda_device_count(&count, &error) != WEFT_CUDA_DONE) return absent();
  WeftCudaDevice device{};
  WeftCudaContext* context = nullptr;
  void* memory = nullptr;
  void* other = nullptr;
  if (weft_cuda_describe(0, &device, &error) != WEFT_CUDA_DONE ||
      weft_cuda_open(0, &context, &error) != WEFT_CUDA_DONE ||
      weft_cuda_allocate(context, kBytes, &memory, &error) != WEFT_CUDA_DONE ||
      weft_cuda_allocate(context, kBytes, &other, &error) != WEFT_CUDA_DONE)
    return absent();
  std::printf("%s, %llu MiB\n", device.name, static_cast<unsigned long long>(device.memory >> 20));
  Rates rates;
  const bool measured = is_right(context, memory) && measure(context, memory, other, rates);
  if (!measured)
    std::fprintf(stderr, "bench gpu: %s\n", *error.text ? error.text : "the pattern read back differs");
  weft_cuda_free(context, other);
  weft_cuda_free(context, memory);
  weft_cuda_close(context);
  return measured ? write(device, rates) : 70;
}
