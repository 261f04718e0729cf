// Temperatures of the GPUs of this host by NVML, the driver's own library. It is opened when it is first
// needed, and nothing of NVIDIA is needed to build this; what reads it takes functions, so that a fake
// serves.
#pragma once

#include <string>
#include <vector>

#include "topology/base/result.hpp"

namespace weft::host {

/// Of libnvidia-ml.so.1 (NVML API reference): each gives 0 (NVML_SUCCESS) or why not. nvmlDevice_t is a
/// pointer, the sensor NVML_TEMPERATURE_GPU is 0.
struct NvmlFunctions {
  int (*init)() = nullptr;                                  // nvmlInit_v2
  int (*shutdown)() = nullptr;                              // nvmlShutdown
  int (*count)(unsigned int* gpus) = nullptr;               // nvmlDeviceGetCount_v2
  int (*device)(unsigned int index, void** gpu) = nullptr;  // nvmlDeviceGetHandleByIndex_v2
  int (*temperature)(void* gpu, int sensor, unsigned int* celsius) = nullptr;  // nvmlDeviceGetTemperature
  const char* (*words)(int error) = nullptr;                                   // nvmlErrorString; may be null
};

/// The library stays loaded: it has threads of its own. Errors: absent (no such library), not_supported (it
/// lacks a function).
Result<NvmlFunctions> open_nvml(const std::string& library = "libnvidia-ml.so.1");

/// What the GPUs that answer say, degrees Celsius; what no electronics has is left out. NVML is begun and
/// ended within: held open between, it keeps the driver from being unloaded and a GPU from being reset.
/// Errors: absent (no GPU, or none that tells), internal (the driver refuses).
Result<std::vector<double>> gpu_temperatures(const NvmlFunctions& nvml);

}  // namespace weft::host
