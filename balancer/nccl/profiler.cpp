// NCCL's profiler interface, versions 3 to 5, over the recorder. Nothing but success is ever told: an error
// would be NCCL's to handle.
#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <memory>

#include "balancer/nccl/environment.hpp"
#include "balancer/nccl/job_files.hpp"
#include "balancer/nccl/plugin_api.hpp"
#include "balancer/nccl/profile_file.hpp"
#include "balancer/nccl/tracked_qp.hpp"
#include "balancer/steer/tuner_table.hpp"

namespace weft::nccl {
namespace {

constexpr int kMask = api::kCollective | api::kPointToPoint | api::kProxyOp | api::kProxyStep;

struct Profiler {
  Profiler(const Environment& of, std::string header)
      : every(of.profile_every), file(recorder, of.directory, std::move(header)) {}

  std::uint32_t every;
  int pid = getpid();
  std::atomic<std::uint64_t> sends{0};  // sends and receives, which NCCL does not count
  ProfileRecorder recorder;
  ProfileFile file;
};

std::atomic<Profiler*> the_profiler{nullptr};

std::string header_of(const Environment& of) {
  std::string header = fmt::format(",\"every\":{},\"host\":\"{}\"", of.profile_every, json_text(host_name()));
  if (of.rank) header += fmt::format(",\"job_rank\":{}", *of.rank);
  if (const auto table = steer::decode_tuner(of.tuner))
    header += fmt::format(",\"tuner_epoch\":{},\"tuner_checksum\":\"{:016x}\"", table->epoch,
                          steer::tuner_checksum(of.tuner));
  return header;
}

/// A child has one of its own from its first communicator on. The parent's is neither used nor freed: its
/// locks, and its ring, are as the fork found them.
void in_child() { the_profiler.store(nullptr); }

/// Null: not asked for, or no memory. Never destroyed: its thread, and threads of the job, may run while the
/// process exits.
Profiler* profiler() {
  if (environment().directory.empty() || environment().profile_every == 0) return nullptr;
  if (Profiler* const made = the_profiler.load(); made != nullptr) return made;
  static const int kHandler = pthread_atfork(nullptr, nullptr, in_child);
  static_cast<void>(kHandler);
  auto made = std::make_unique<Profiler>(environment(), header_of(environment()));
  Profiler* first = nullptr;
  return the_profiler.compare_exchange_strong(first, made.get()) ? made.release() : first;
}

[[gnu::destructor]] void profile_ends() {
  if (Profiler* profiler = the_profiler.load()) profiler->file.drain();
}

int open(void** context, int* mask, const ProfiledCommunicator& about) noexcept {
  if (context != nullptr) *context = nullptr;
  if (mask != nullptr) *mask = 0;
  if (context == nullptr || mask == nullptr) return api::kSuccess;
  try {
    Profiler* const kept = profiler();
    if (kept == nullptr) return api::kSuccess;
    kept->file.start();
    *context = kept->recorder.open(about);
    *mask = kMask;
  } catch (...) {  // no memory: nothing is told of it
  }
  return api::kSuccess;
}

int open_v5(void** context, std::uint64_t comm_id, int* mask, const char* name, int nodes, int ranks,
            int rank, api::Logger) noexcept {
  return open(context, mask, {comm_id, rank, ranks, nodes, short_text<64>(name)});
}

int open_v4(void** context, int* mask, const char* name, std::uint64_t comm_id, int nodes, int ranks,
            int rank, api::Logger logger) noexcept {
  return open_v5(context, comm_id, mask, name, nodes, ranks, rank, logger);
}

/// Version 3 tells neither a communicator's size and rank nor, with the events of its proxies, which it is:
/// of a process that has several at a time only the first is told of, the job's as a rule.
int open_v3(void** context, int* mask) noexcept {
  if (const Profiler* kept = the_profiler.load();
      kept != nullptr && kept->recorder.communicator(0) != nullptr) {
    if (context != nullptr) *context = nullptr;
    if (mask != nullptr) *mask = 0;
    return api::kSuccess;
  }
  const auto rank = environment().rank;
  return open(context, mask, {0, rank ? static_cast<std::int32_t>(*rank) : -1, 0, 0, {}});
}

int close(void* context) noexcept {
  Profiler* const kept = the_profiler.load();
  if (kept == nullptr || context == nullptr) return api::kSuccess;
  kept->file.drain();  // while its name is known
  kept->recorder.close(context);
  return api::kSuccess;
}

ProfiledCollective about(const api::CollectiveV5& of) {
  return {.sequence = of.sequence,
          .function = short_text<16>(of.function),
          .type = short_text<16>(of.type),
          .algorithm = short_text<20>(of.algorithm),
          .protocol = short_text<8>(of.protocol),
          .count = of.count,
          .peer = -1,
          .channels = of.channels};
}

ProfiledCollective about(const api::PointToPointV5& of, std::uint64_t sequence, bool has_channels) {
  return {.sequence = sequence,
          .function = short_text<16>(of.function),
          .type = short_text<16>(of.type),
          .algorithm = {},
          .protocol = {},
          .count = of.count,
          .peer = of.peer,
          .channels = has_channels ? of.channels : std::uint8_t{0}};
}

void* start_operation(Profiler& kept, const api::Descriptor& event) {
  // With PXN the collective is another process's, and so is the number of its parent.
  if (event.proxy_op.pid != kept.pid) return nullptr;
  return kept.recorder.start_operation(event.parent, event.proxy_op.peer, event.proxy_op.channel,
                                       event.proxy_op.is_send != 0, profile_clock());
}

template <int kVersion>
int start(void* context, void** handle, const api::Descriptor* event) noexcept {
  if (handle == nullptr) return api::kSuccess;
  *handle = nullptr;
  Profiler* const kept = the_profiler.load(std::memory_order_relaxed);
  if (kept == nullptr || event == nullptr) return api::kSuccess;
  const std::uint64_t type = kVersion >= 5 ? event->type : event->type & 0xFFU;
  if (type == api::kProxyStep) {
    *handle = event->parent == nullptr
                  ? nullptr
                  : kept->recorder.start_step(event->parent, event->proxy_step, profile_clock());
  } else if (type == api::kProxyOp) {
    if (event->parent != nullptr) *handle = start_operation(*kept, *event);
  } else if (type == api::kCollective) {
    const auto& of = kVersion >= 4 ? event->collective : event->collective_v3.rest;
    if (of.sequence % kept->every == 0)
      *handle = kept->recorder.start_collective(context, about(of), kept->every, profile_clock());
  } else if (type == api::kPointToPoint) {
    const auto& of = kVersion >= 4 ? event->point_to_point : event->point_to_point_v3.rest;
    const auto sequence = kept->sends.fetch_add(1, std::memory_order_relaxed);
    if (sequence % kept->every == 0)
      *handle = kept->recorder.start_collective(context, about(of, sequence, kVersion >= 4), kept->every,
                                                profile_clock());
  }
  return api::kSuccess;
}

int stop(void* handle) noexcept {
  Profiler* const kept = the_profiler.load(std::memory_order_relaxed);
  if (kept != nullptr && handle != nullptr) kept->recorder.stop(handle, profile_clock());
  return api::kSuccess;
}

int record(void* handle, int state, const api::StateArguments* arguments) noexcept {
  Profiler* const kept = the_profiler.load(std::memory_order_relaxed);
  if (kept == nullptr || handle == nullptr) return api::kSuccess;
  const auto waits = [&](ProxyWait wait, bool moved, std::optional<std::uint32_t> qp = std::nullopt) {
    kept->recorder.step_waits(handle, wait, moved && arguments != nullptr ? arguments->sent_bytes : 0,
                              profile_clock(), qp);
    return api::kSuccess;
  };
  switch (state) {
    case api::kSendGpuWait:
    case api::kRecvGpuWait:
      return waits(ProxyWait::gpu, false);
    case api::kSendPeerWait:
      static_cast<void>(take_posted_by());  // of other steps
      return waits(ProxyWait::peer, false);
    case api::kSendWait:
      // `isend` stands between the two, on one thread (NCCL 2.28, net.cc).
      return waits(ProxyWait::network, true, take_posted_by());
    case api::kRecvWait:
      return waits(ProxyWait::data, false);
    case api::kRecvFlushWait:
      return waits(ProxyWait::flush, true);
    default:
      return api::kSuccess;
  }
}

/// Of version 3 the arguments are others.
int record_v3(void* handle, int state, const void*) noexcept { return record(handle, state, nullptr); }

}  // namespace
}  // namespace weft::nccl

#pragma GCC visibility push(default)
extern "C" {
extern const weft::nccl::api::ProfilerV5 ncclProfiler_v5;
extern const weft::nccl::api::ProfilerV4 ncclProfiler_v4;
extern const weft::nccl::api::ProfilerV3 ncclProfiler_v3;
const weft::nccl::api::ProfilerV5 ncclProfiler_v5{"weft",           weft::nccl::open_v5, weft::nccl::start<5>,
                                                  weft::nccl::stop, weft::nccl::record,  weft::nccl::close};
const weft::nccl::api::ProfilerV4 ncclProfiler_v4{"weft",           weft::nccl::open_v4, weft::nccl::start<4>,
                                                  weft::nccl::stop, weft::nccl::record,  weft::nccl::close};
const weft::nccl::api::ProfilerV3 ncclProfiler_v3{
    "weft",           weft::nccl::open_v3,   weft::nccl::start<3>,
    weft::nccl::stop, weft::nccl::record_v3, weft::nccl::close};
}
#pragma GCC visibility pop
