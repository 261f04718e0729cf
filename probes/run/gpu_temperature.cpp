#include "probes/run/gpu_temperature.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace weft::run {
namespace {

class Gpus {
 public:
  Gpus(std::function<Result<host::NvmlFunctions>()> open, std::function<void(const std::string&)> print)
      : open_(std::move(open)), print_(std::move(print)) {}

  std::optional<double> warmest() {
    if (!nvml_) nvml_ = open_();
    if (!*nvml_) return without(nvml_->error().message);
    const auto all = host::gpu_temperatures(**nvml_);
    if (!all) return without(all.error().message);
    return *std::ranges::max_element(*all);
  }

 private:
  std::optional<double> without(const std::string& why) {
    if (why != printed_) print_(fmt::format("no temperature of GPUs: {}", why));
    printed_ = why;
    return std::nullopt;
  }

  std::function<Result<host::NvmlFunctions>()> open_;
  std::function<void(const std::string&)> print_;
  std::optional<Result<host::NvmlFunctions>> nvml_;
  std::string printed_;  // last
};

}  // namespace

WarmestGpu warmest_gpu(std::function<Result<host::NvmlFunctions>()> open,
                       std::function<void(const std::string&)> print) {
  return [gpus = std::make_shared<Gpus>(std::move(open), std::move(print))] { return gpus->warmest(); };
}

}  // namespace weft::run
