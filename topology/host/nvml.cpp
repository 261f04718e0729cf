#include "topology/host/nvml.hpp"

#include <dlfcn.h>

#include <memory>

#include "topology/base/outside_text.hpp"
#include "topology/findings/nic_reading.hpp"

namespace weft::host {
namespace {

constexpr unsigned int kMaxGpus = 256;  // of a host; the largest have 16
constexpr int kSensorOfGpu = 0;         // NVML_TEMPERATURE_GPU

template <class Function>
bool find_function(void* library, const char* name, Function*& into) {
  into = reinterpret_cast<Function*>(dlsym(library, name));
  return into != nullptr;
}

Result<std::vector<double>> refused(const NvmlFunctions& nvml, const char* call, int error) {
  const char* words = nvml.words != nullptr ? nvml.words(error) : nullptr;
  return fail(ErrorKind::internal, "{} failed: {}", call,
              words != nullptr ? outside_text(words) : fmt::format("error {}", error));
}

}  // namespace

Result<NvmlFunctions> open_nvml(const std::string& library) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = dlerror();
    return fail(ErrorKind::absent, "{}", why != nullptr ? outside_text(why) : library + " cannot be loaded");
  }
  NvmlFunctions nvml;
  const bool all = find_function(handle, "nvmlInit_v2", nvml.init) &&
                   find_function(handle, "nvmlShutdown", nvml.shutdown) &&
                   find_function(handle, "nvmlDeviceGetCount_v2", nvml.count) &&
                   find_function(handle, "nvmlDeviceGetHandleByIndex_v2", nvml.device) &&
                   find_function(handle, "nvmlDeviceGetTemperature", nvml.temperature);
  if (!all) return fail(ErrorKind::not_supported, "{} lacks functions of NVML", library);
  find_function(handle, "nvmlErrorString", nvml.words);
  return nvml;
}

Result<std::vector<double>> gpu_temperatures(const NvmlFunctions& nvml) {
  if (const int error = nvml.init(); error != 0) return refused(nvml, "nvmlInit", error);
  const std::unique_ptr<const NvmlFunctions, void (*)(const NvmlFunctions*)> ended(
      &nvml, [](const NvmlFunctions* begun) { begun->shutdown(); });
  unsigned int gpus = 0;
  if (const int error = nvml.count(&gpus); error != 0) return refused(nvml, "nvmlDeviceGetCount", error);
  if (gpus > kMaxGpus) return fail(ErrorKind::internal, "NVML tells of {} GPUs: no host has so many", gpus);
  std::vector<double> temperatures;
  for (unsigned int i = 0; i < gpus; ++i) {
    void* gpu = nullptr;
    unsigned int celsius = 0;
    if (nvml.device(i, &gpu) != 0 || gpu == nullptr) continue;  // lost, or not ours to ask
    if (nvml.temperature(gpu, kSensorOfGpu, &celsius) != 0) continue;
    if (is_celsius_of_electronics(celsius)) temperatures.push_back(celsius);
  }
  if (gpus == 0) return fail(ErrorKind::absent, "there is no GPU");
  if (temperatures.empty()) return fail(ErrorKind::absent, "none of {} GPUs reports a temperature", gpus);
  return temperatures;
}

}  // namespace weft::host
