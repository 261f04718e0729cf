// What libweft-nccl.so shows beside NCCL's plugins: the functions that it answers in a job's process instead
// of glibc and libibverbs. Not part of the module: a program linked with it must keep its own.
#include "balancer/nccl/exports.hpp"

#include <dlfcn.h>
#include <infiniband/verbs.h>

#include <cstring>

#include "balancer/nccl/keeper.hpp"
#include "balancer/nccl/verbs_calls.hpp"

namespace {

/// Of version 1.0 (2006) the structures are others.
constexpr const char* kVersion = "IBVERBS_1.1";

void* answer_instead(const char* name) {
  if (std::strcmp(name, "ibv_modify_qp") == 0) return reinterpret_cast<void*>(&weft::nccl::modify_qp);
  if (std::strcmp(name, "ibv_destroy_qp") == 0) return reinterpret_cast<void*>(&weft::nccl::destroy_qp);
  return nullptr;
}

[[gnu::destructor]] void process_ends() { weft::nccl::process_ends(); }

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

void* weft_dlvsym(void* handle, const char* name, const char* version) noexcept {
  const auto next = weft::nccl::next_dlvsym();
  const bool is_verbs = name != nullptr && version != nullptr && std::strncmp(name, "ibv_", 4) == 0 &&
                        std::strcmp(version, kVersion) == 0;
  void* const instead = is_verbs ? answer_instead(name) : nullptr;
  // RTLD_NEXT depends on who calls: this must stay a jump, so that it is the program.
  if (instead == nullptr) return next(handle, name, version);
  const void* const own = next(handle, name, version);
  if (own == nullptr) return nullptr;
  weft::nccl::note_verbs_library(handle, own);
  return instead;
}

void* dlvsym(void* handle, const char* name, const char* version) noexcept
    __attribute__((alias("weft_dlvsym")));

int ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* attributes, int mask) {
  return weft::nccl::modify_qp(qp, attributes, mask);
}

int ibv_destroy_qp(ibv_qp* qp) { return weft::nccl::destroy_qp(qp); }
}
#pragma GCC visibility pop
