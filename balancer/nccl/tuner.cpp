// NCCL's tuner interface, versions 3 to 5: the answer comes from the table in the job's environment.
// Declining is success and an untouched cost table: an error would fail the collective.
#include <span>
#include <string>

#include "balancer/nccl/environment.hpp"
#include "balancer/nccl/plugin_api.hpp"
#include "balancer/steer/tuner_table.hpp"

namespace weft::nccl {
namespace {

struct SharedTable {
  steer::TunerTable table;
  std::uint64_t checksum = 0;
  std::string refusal;
};

SharedTable read_table() {
  SharedTable read;
  read.checksum = steer::tuner_checksum(environment().tuner);
  auto table = steer::decode_tuner(environment().tuner);
  if (table)
    read.table = std::move(*table);
  else
    read.refusal = table.error().message;
  return read;
}

/// Read once in a process: all its communicators decide by one table.
const SharedTable& shared_table() {
  static const auto* const kRead = new SharedTable(read_table());
  return *kRead;
}

void log_shape(api::Logger logger, std::size_t ranks, std::size_t nodes) {
  const SharedTable& shared = shared_table();
  if (logger == nullptr || environment().tuner.empty()) return;
  if (shared.refusal.empty())
    logger(api::kLogInfo, api::kLogTuning, "weft", 0,
           "weft: tuner table of epoch %llu, checksum %016llx, for %zu ranks on %zu nodes",
           static_cast<unsigned long long>(shared.table.epoch),
           static_cast<unsigned long long>(shared.checksum), ranks, nodes);
  else
    logger(api::kLogWarn, api::kLogTuning, "weft", 0, "weft: WEFT_NCCL_TUNER is not taken: %s",
           shared.refusal.c_str());
}

int make_tuner(void** context, std::size_t ranks, std::size_t nodes, api::Logger logger) noexcept {
  if (context == nullptr) return api::kSuccess;
  *context = nullptr;
  try {
    log_shape(logger, ranks, nodes);
    *context = new steer::CommunicatorTuner(shared_table().table, ranks, nodes);
  } catch (...) {  // no memory: this rank would decide alone, and the job would fail soon after
    return api::kSystemError;
  }
  return api::kSuccess;
}

int destroy(void* context) noexcept {
  delete static_cast<steer::CommunicatorTuner*>(context);
  return api::kSuccess;
}

int choose(void* context, int function, std::size_t bytes, int, api::CostTable costs, int algorithms,
           int protocols, int, int* channels) noexcept {
  if (context == nullptr || costs == nullptr || function < 0 || algorithms <= 0 || protocols <= 0)
    return api::kSuccess;
  const auto columns = static_cast<std::size_t>(protocols);
  // Not an array of pointers, whatever its type says: the rows stand one after another.
  const std::span cells(reinterpret_cast<float*>(costs), static_cast<std::size_t>(algorithms) * columns);
  const auto* const tuner = static_cast<const steer::CommunicatorTuner*>(context);
  const auto taken = tuner->choose(static_cast<std::uint64_t>(function), bytes, {cells, columns});
  if (taken && *taken != 0 && channels != nullptr) *channels = static_cast<int>(*taken);
  return api::kSuccess;
}

int init_v5(void** context, std::uint64_t, std::size_t ranks, std::size_t nodes, api::Logger logger, void*,
            void*) noexcept {
  return make_tuner(context, ranks, nodes, logger);
}

int init_v4(std::size_t ranks, std::size_t nodes, api::Logger logger, void** context) noexcept {
  return make_tuner(context, ranks, nodes, logger);
}

int choose_v3(void* context, int function, std::size_t bytes, int pipe_ops, api::CostTable costs,
              int algorithms, int protocols, int* channels) noexcept {
  return choose(context, function, bytes, pipe_ops, costs, algorithms, protocols, 0, channels);
}

}  // namespace
}  // namespace weft::nccl

#pragma GCC visibility push(default)
extern "C" {
extern const weft::nccl::api::TunerV5 ncclTunerPlugin_v5;
extern const weft::nccl::api::TunerV4 ncclTunerPlugin_v4;
extern const weft::nccl::api::TunerV3 ncclTunerPlugin_v3;
const weft::nccl::api::TunerV5 ncclTunerPlugin_v5{"weft", weft::nccl::init_v5, weft::nccl::choose,
                                                  weft::nccl::destroy};
const weft::nccl::api::TunerV4 ncclTunerPlugin_v4{"weft", weft::nccl::init_v4, weft::nccl::choose,
                                                  weft::nccl::destroy};
const weft::nccl::api::TunerV3 ncclTunerPlugin_v3{"weft", weft::nccl::init_v4, weft::nccl::choose_v3,
                                                  weft::nccl::destroy};
}
#pragma GCC visibility pop
