// What NCCL's tuner and profiler interfaces share, and the structures of both: declared here from the facts
// of NCCL 2.28 (plugin/tuner/tuner_v3.h to v5, plugin/profiler/profiler_v3.h to v5), as the CUDA toolkit
// ships nccl.h alone. Sizes and offsets are asserted for x86-64 and AArch64 Linux.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::nccl::api {

inline constexpr int kSuccess = 0;      // ncclSuccess
inline constexpr int kSystemError = 2;  // ncclSystemError

/// ncclDebugLogger_t, and of its levels and subsystems those that are used.
using Logger = void (*)(int level, unsigned long subsystems, const char* file, int line, const char* format,
                        ...);
inline constexpr int kLogWarn = 2;
inline constexpr int kLogInfo = 3;
inline constexpr unsigned long kLogInit = 1;
inline constexpr unsigned long kLogTuning = 64;

// ---- tuner
/// A float of numAlgo rows of numProto columns, as NCCL hands it over.
using CostTable = float**;

struct TunerV5 {
  const char* name;
  int (*init)(void** context, std::uint64_t comm_id, std::size_t ranks, std::size_t nodes, Logger logger,
              void* nvl_domains, void* constants);
  int (*get_coll_info)(void* context, int function, std::size_t bytes, int pipe_ops, CostTable costs,
                       int algorithms, int protocols, int registered, int* channels);
  int (*finalize)(void* context);
};
static_assert(sizeof(TunerV5) == 32 && offsetof(TunerV5, init) == 8 &&
              offsetof(TunerV5, get_coll_info) == 16 && offsetof(TunerV5, finalize) == 24);

struct TunerV4 {
  const char* name;
  int (*init)(std::size_t ranks, std::size_t nodes, Logger logger, void** context);
  int (*get_coll_info)(void* context, int function, std::size_t bytes, int pipe_ops, CostTable costs,
                       int algorithms, int protocols, int registered, int* channels);
  int (*destroy)(void* context);
};
static_assert(sizeof(TunerV4) == 32 && offsetof(TunerV4, destroy) == 24);

struct TunerV3 {
  const char* name;
  int (*init)(std::size_t ranks, std::size_t nodes, Logger logger, void** context);
  int (*get_coll_info)(void* context, int function, std::size_t bytes, int pipe_ops, CostTable costs,
                       int algorithms, int protocols, int* channels);
  int (*destroy)(void* context);
};
static_assert(sizeof(TunerV3) == 32 && offsetof(TunerV3, destroy) == 24);

// ---- profiler
enum EventType : std::uint64_t {
  kCollective = 1U << 1U,
  kPointToPoint = 1U << 2U,
  kProxyOp = 1U << 3U,
  kProxyStep = 1U << 4U,
};

enum EventState : int {
  kSendGpuWait = 8,
  kSendWait = 9,
  kRecvWait = 10,
  kRecvFlushWait = 11,
  kRecvGpuWait = 12,
  kSendPeerWait = 20,  // from version 4 on
};

struct CollectiveV5 {
  std::uint64_t sequence;
  const char* function;
  const void* send_buffer;
  void* receive_buffer;
  std::size_t count;
  int root;
  const char* type;
  std::uint8_t channels;
  std::uint8_t warps;
  const char* algorithm;
  const char* protocol;  // of version 5 a pointer follows
};
static_assert(sizeof(CollectiveV5) == 80 && offsetof(CollectiveV5, count) == 32 &&
              offsetof(CollectiveV5, type) == 48 && offsetof(CollectiveV5, channels) == 56 &&
              offsetof(CollectiveV5, algorithm) == 64);

/// Of version 3: the communicator's name and number come first.
struct CollectiveV3 {
  const char* communicator;
  std::uint64_t communicator_id;
  CollectiveV5 rest;
};
static_assert(sizeof(CollectiveV3) == 96 && offsetof(CollectiveV3, rest) == 16);

struct PointToPointV5 {
  const char* function;
  void* buffer;
  const char* type;
  std::size_t count;
  int peer;
  std::uint8_t channels;  // not of version 3
};
static_assert(sizeof(PointToPointV5) == 40 && offsetof(PointToPointV5, peer) == 32 &&
              offsetof(PointToPointV5, channels) == 36);

struct PointToPointV3 {
  const char* communicator;
  std::uint64_t communicator_id;
  PointToPointV5 rest;
};
static_assert(sizeof(PointToPointV3) == 56);

struct ProxyOp {
  int pid;  // of the process whose collective it is: with PXN another one
  std::uint8_t channel;
  int peer;
  int steps;
  int chunk_size;
  int is_send;
};
static_assert(sizeof(ProxyOp) == 24 && offsetof(ProxyOp, peer) == 8 && offsetof(ProxyOp, is_send) == 20);

/// ncclProfilerEventDescr_t of versions 3 to 5: `type` is 64 bits wide in version 5 and 8 bits before.
struct Descriptor {
  std::uint64_t type;
  void* parent;
  int rank;
  union {
    CollectiveV5 collective;
    CollectiveV3 collective_v3;
    PointToPointV5 point_to_point;
    PointToPointV3 point_to_point_v3;
    ProxyOp proxy_op;
    int proxy_step;
  };
};
static_assert(offsetof(Descriptor, parent) == 8 && offsetof(Descriptor, rank) == 16 &&
              offsetof(Descriptor, collective) == 24 && sizeof(Descriptor) == 120);

/// ncclProfilerEventStateArgs_t of a step, versions 4 and 5.
struct StateArguments {
  std::size_t sent_bytes;
};

struct ProfilerV5 {
  const char* name;
  int (*init)(void** context, std::uint64_t comm_id, int* mask, const char* comm_name, int nodes, int ranks,
              int rank, Logger logger);
  int (*start)(void* context, void** handle, const Descriptor* descriptor);
  int (*stop)(void* handle);
  int (*record)(void* handle, int state, const StateArguments* arguments);
  int (*finalize)(void* context);
};
static_assert(sizeof(ProfilerV5) == 48 && offsetof(ProfilerV5, start) == 16 &&
              offsetof(ProfilerV5, finalize) == 40);

struct ProfilerV4 {
  const char* name;
  int (*init)(void** context, int* mask, const char* comm_name, std::uint64_t comm_id, int nodes, int ranks,
              int rank, Logger logger);
  int (*start)(void* context, void** handle, const Descriptor* descriptor);
  int (*stop)(void* handle);
  int (*record)(void* handle, int state, const StateArguments* arguments);
  int (*finalize)(void* context);
};
static_assert(sizeof(ProfilerV4) == 48);

struct ProfilerV3 {
  const char* name;
  int (*init)(void** context, int* mask);
  int (*start)(void* context, void** handle, const Descriptor* descriptor);
  int (*stop)(void* handle);
  int (*record)(void* handle, int state, const void* arguments);
  int (*finalize)(void* context);
};
static_assert(sizeof(ProfilerV3) == 48);

}  // namespace weft::nccl::api
