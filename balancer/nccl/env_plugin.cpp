// NCCL's env interface (2.28, plugin/nccl_env.h): NCCL loads it before anything else, in ncclGetUniqueId too,
// so that by it this library comes into a job without LD_PRELOAD. Variables are answered as the environment
// has them.
#include <cstddef>
#include <cstdint>

#include "balancer/nccl/call_slots.hpp"
#include "balancer/nccl/environment.hpp"
#include "balancer/nccl/exports.hpp"

namespace {

constexpr int kSuccess = 0;  // ncclSuccess

struct EnvPluginV1 {
  const char* name;
  int (*init)(std::uint8_t major, std::uint8_t minor, std::uint8_t patch, const char* suffix);
  int (*finalize)();
  const char* (*get_env)(const char* name);
};
static_assert(sizeof(EnvPluginV1) == 32 && offsetof(EnvPluginV1, init) == 8 &&
              offsetof(EnvPluginV1, finalize) == 16 && offsetof(EnvPluginV1, get_env) == 24);

int init(std::uint8_t, std::uint8_t, std::uint8_t, const char*) noexcept {
  // Who calls is NCCL, a library of its own or a part of another. Preloaded, it has ours already.
  void** const slot = weft::nccl::find_call_slot(__builtin_return_address(0), "dlvsym");
  if (slot != nullptr && *slot != reinterpret_cast<void*>(&weft_dlvsym))
    weft::nccl::fill_call_slot(slot, reinterpret_cast<void*>(&weft_dlvsym));
  return kSuccess;
}

int finalize() noexcept { return kSuccess; }

const char* get_env(const char* name) noexcept { return weft::nccl::environment_variable(name); }

}  // namespace

extern "C" {
[[gnu::visibility("default")]] extern const EnvPluginV1 ncclEnvPlugin_v1;
const EnvPluginV1 ncclEnvPlugin_v1{"weft", init, finalize, get_env};
}
