// libibverbs' own functions, as the job's process has them: behind what the interposer answers instead.
#pragma once

#include <cstdint>

#include "probes/rdma/verbs_library.hpp"

union ibv_gid;
struct ibv_qp_ex;

namespace weft::nccl {

struct VerbsCalls {
  rdma::VerbsLibrary library;  // of it what a queue pair that is somebody else's needs
  int (*query_gid)(ibv_context* context, std::uint8_t port, int index, ibv_gid* gid) = nullptr;
  ibv_qp_ex* (*qp_to_qp_ex)(ibv_qp* qp) = nullptr;  // may be absent
};

/// glibc's, also where this library answers dlvsym itself.
using Dlvsym = void* (*)(void* handle, const char* name, const char* version) noexcept;
Dlvsym next_dlvsym() noexcept;

/// The library that has `address` within stays loaded for good.
void pin_library(const void* address) noexcept;

/// The program has libibverbs, which has `function`, by this handle of dlopen. The first one counts.
void note_verbs_library(void* handle, const void* function) noexcept;

/// Asked for by the first call that changes a queue pair: then providers are loaded. Null: there is no
/// libibverbs in this process.
const VerbsCalls* verbs_calls() noexcept;

}  // namespace weft::nccl
