#include "balancer/nccl/verbs_calls.hpp"

#include <dlfcn.h>

#include <atomic>

namespace weft::nccl {
namespace {

std::atomic<const VerbsCalls*> known{nullptr};
std::atomic<void*> noted{nullptr};

template <class F>
bool find_call(void* handle, const char* name, F& place, const char* version = "IBVERBS_1.1") {
  place = reinterpret_cast<F>(next_dlvsym()(handle, name, version));
  return place != nullptr;
}

VerbsCalls* find_calls(void* handle) {
  VerbsCalls calls;
  const bool all = find_call(handle, "ibv_modify_qp", calls.library.modify_qp) &&
                   find_call(handle, "ibv_query_qp", calls.library.query_qp) &&
                   find_call(handle, "ibv_destroy_qp", calls.library.destroy_qp) &&
                   find_call(handle, "ibv_get_device_name", calls.library.get_device_name) &&
                   find_call(handle, "ibv_query_gid", calls.query_gid);
  if (!all) return nullptr;
  pin_library(reinterpret_cast<const void*>(calls.library.modify_qp));
  find_call(handle, "ibv_qp_to_qp_ex", calls.qp_to_qp_ex, "IBVERBS_1.6");
  // Not opened for this: where a job has a ConnectX, its provider is there, as there is a queue pair.
  if (void* mlx5 = dlopen("libmlx5.so.1", RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE); mlx5 != nullptr) {
    rdma::find_symbol(mlx5, "mlx5dv_is_supported", calls.library.is_mlx5);
    rdma::find_symbol(mlx5, "mlx5dv_modify_qp_udp_sport", calls.library.modify_qp_udp_sport);
  }
  return new VerbsCalls(calls);
}

/// The first stays; another that was made meanwhile is as good.
void keep(const VerbsCalls* calls) {
  const VerbsCalls* none = nullptr;
  if (calls != nullptr && !known.compare_exchange_strong(none, calls)) delete calls;
}

}  // namespace

Dlvsym next_dlvsym() noexcept {
  static const auto kNext = reinterpret_cast<Dlvsym>(dlsym(RTLD_NEXT, "dlvsym"));
  return kNext;
}

void pin_library(const void* address) noexcept {
  Dl_info about{};
  if (dladdr(address, &about) != 0 && about.dli_fname != nullptr)
    dlopen(about.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

void note_verbs_library(void* handle, const void* function) noexcept {
  void* none = nullptr;
  if (noted.compare_exchange_strong(none, handle)) pin_library(function);
}

const VerbsCalls* verbs_calls() noexcept {
  if (const VerbsCalls* calls = known.load(); calls != nullptr) return calls;
  if (void* handle = noted.load(); handle != nullptr) keep(find_calls(handle));
  if (known.load() == nullptr) keep(find_calls(RTLD_NEXT));  // the program is linked with it
  if (known.load() == nullptr)
    if (void* handle = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_NOLOAD); handle != nullptr)
      keep(find_calls(handle));
  return known.load();
}

}  // namespace weft::nccl
