// FakeNvml: GPUs of a host as NVML tells of them. It can refuse, lose a GPU, claim more than there are, and
// fail once it is begun. One at a time: NVML's functions take no state.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "topology/host/nvml.hpp"

namespace weft {

class FakeNvml {
 public:
  struct Gpu {
    unsigned int celsius = 0;
    bool is_lost = false, has_no_sensor = false;
  };

  explicit FakeNvml(std::vector<Gpu> gpus)
      : claimed_(static_cast<unsigned int>(gpus.size())), gpus_(std::move(gpus)) {
    current() = this;
  }
  ~FakeNvml() { current() = nullptr; }
  FakeNvml(const FakeNvml&) = delete;
  FakeNvml& operator=(const FakeNvml&) = delete;

  void set(std::size_t gpu, unsigned int celsius) { gpus_[gpu].celsius = celsius; }
  void claim(unsigned int gpus) { claimed_ = gpus; }
  /// It cannot be begun, for this reason; absent: it can.
  void refuse(std::optional<std::string> why) { refused_ = std::move(why); }
  /// Begun it answers nothing, as while the driver is unloaded.
  void unload(bool is_unloaded = true) { is_unloaded_ = is_unloaded; }
  bool is_held() const { return begun_ > 0; }

  host::NvmlFunctions functions() const {
    return {
        .init = [] { return current()->init(); },
        .shutdown = [] { return current()->shutdown(); },
        .count = [](unsigned int* gpus) { return current()->count(*gpus); },
        .device = [](unsigned int index, void** gpu) { return current()->device(index, *gpu); },
        .temperature =
            [](void* gpu, int sensor, unsigned int* celsius) {
              return current()->temperature(*static_cast<Gpu*>(gpu), sensor, *celsius);
            },
        .words = [](int) { return current()->refused_ ? current()->refused_->c_str() : "Uninitialized"; }};
  }

 private:
  static constexpr int kUninitialized = 1, kNotSupported = 3, kDriverNotLoaded = 9, kGpuIsLost = 15;

  static FakeNvml*& current() {
    static FakeNvml* fake = nullptr;
    return fake;
  }
  int init() {
    if (refused_) return kDriverNotLoaded;
    ++begun_;
    return 0;
  }
  int shutdown() {
    if (begun_ == 0) return kUninitialized;
    --begun_;
    return 0;
  }
  int count(unsigned int& gpus) const {
    if (begun_ == 0 || is_unloaded_) return kUninitialized;
    gpus = claimed_;
    return 0;
  }
  int device(unsigned int index, void*& gpu) {
    if (gpus_.at(index).is_lost) return kGpuIsLost;
    gpu = &gpus_[index];
    return 0;
  }
  static int temperature(const Gpu& gpu, int sensor, unsigned int& celsius) {
    if (gpu.has_no_sensor || sensor != 0) return kNotSupported;
    celsius = gpu.celsius;
    return 0;
  }

  unsigned int claimed_;
  std::vector<Gpu> gpus_;
  std::optional<std::string> refused_;
  bool is_unloaded_ = false;
  int begun_ = 0;
};

}  // namespace weft
