// Drives the tuner and the profiler of a library as NCCL 2.28 does: it loads it, takes the newest interface
// up to VERSION, and calls in NCCL's order and from its threads.
//   plugin_host LIBRARY VERSION tuner RANKS NODES FUNCTION BYTES [ALGORITHM PROTOCOL ignored...]
//   plugin_host LIBRARY VERSION tuner RANKS NODES < FUNCTION BYTES IGNORED (bits of the cost table) a line
//   plugin_host LIBRARY VERSION profiler COLLECTIVES END
// The tuner's answer is printed: "algorithm protocol channels", or "declined". END of the profiler: finalize,
// exit (without it), kill, fork (a child goes on), again (another communicator after it), other (as with PXN:
// the collectives are another process's), stale (events are used once more after they ended), waiting (the
// last step never ends, for three seconds).
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "balancer/nccl/plugin_api.hpp"

namespace {

using namespace weft::nccl::api;

constexpr int kAlgorithms = 7;
constexpr int kProtocols = 3;
constexpr int kStepsUnderWay = 8;

void log(int, unsigned long, const char*, int, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::vfprintf(stderr, format, arguments);
  va_end(arguments);
  std::fputc('\n', stderr);
}

template <class Interface>
const Interface* find(void* library, const char* name) {
  return static_cast<const Interface*>(dlsym(library, name));
}

[[noreturn]] void give_up(const char* why) {
  std::fprintf(stderr, "plugin_host: %s\n", why);
  std::exit(3);
}

// ---- tuner

/// One interface over the three.
struct Tuner {
  void* context = nullptr;
  int (*choose)(void*, int, std::size_t, int, CostTable, int, int, int, int*) = nullptr;
  int (*choose_v3)(void*, int, std::size_t, int, CostTable, int, int, int*) = nullptr;
  int (*finalize)(void*) = nullptr;
};

Tuner open_tuner(void* library, int version, std::size_t ranks, std::size_t nodes) {
  Tuner opened;
  int error = 0;
  if (const auto* v5 = find<TunerV5>(library, "ncclTunerPlugin_v5"); v5 != nullptr && version >= 5) {
    std::array<int, 3> domains{2, 1, 1};
    std::array<double, 144> constants{};
    error = v5->init(&opened.context, 77, ranks, nodes, log, domains.data(), constants.data());
    opened = {opened.context, v5->get_coll_info, nullptr, v5->finalize};
  } else if (const auto* v4 = find<TunerV4>(library, "ncclTunerPlugin_v4"); v4 != nullptr && version >= 4) {
    error = v4->init(ranks, nodes, log, &opened.context);
    opened = {opened.context, v4->get_coll_info, nullptr, v4->destroy};
  } else if (const auto* v3 = find<TunerV3>(library, "ncclTunerPlugin_v3"); v3 != nullptr) {
    error = v3->init(ranks, nodes, log, &opened.context);
    opened = {opened.context, nullptr, v3->get_coll_info, v3->destroy};
  } else {
    give_up("no tuner");
  }
  if (error != 0) give_up("the tuner cannot be used");
  return opened;
}

/// `costs`: 5 or, where NCCL cannot do it, -1.
void ask(const Tuner& tuner, int function, std::size_t bytes, float (&costs)[kAlgorithms][kProtocols]) {
  float before[kAlgorithms][kProtocols];
  std::memcpy(before, costs, sizeof costs);
  int channels = 0;
  auto* const table = reinterpret_cast<float**>(costs);
  const int error =
      tuner.choose != nullptr
          ? tuner.choose(tuner.context, function, bytes, 1, table, kAlgorithms, kProtocols, 0, &channels)
          : tuner.choose_v3(tuner.context, function, bytes, 1, table, kAlgorithms, kProtocols, &channels);
  if (error != 0) give_up("the tuner fails a collective");
  if (std::memcmp(before, costs, sizeof costs) == 0 && channels == 0) std::printf("declined\n");
  for (int a = 0; a < kAlgorithms; ++a)
    for (int p = 0; p < kProtocols; ++p)
      if (costs[a][p] == 0) std::printf("%d %d %d\n", a, p, channels);
}

int ask_tuner(void* library, int version, int argc, char** argv) {
  const Tuner tuner =
      open_tuner(library, version, std::strtoull(argv[4], nullptr, 10), std::strtoull(argv[5], nullptr, 10));
  float costs[kAlgorithms][kProtocols];
  const auto fill = [&](unsigned long long ignored) {
    for (int i = 0; i < kAlgorithms * kProtocols; ++i)
      costs[i / kProtocols][i % kProtocols] = (ignored >> i & 1U) != 0 ? -1 : 5;
  };
  if (argc >= 8) {
    fill(0);
    for (int i = 8; i + 1 < argc; i += 2) costs[std::atoi(argv[i])][std::atoi(argv[i + 1])] = -1;
    ask(tuner, std::atoi(argv[6]), std::strtoull(argv[7], nullptr, 10), costs);
  } else {
    int function = 0;
    unsigned long long bytes = 0, ignored = 0;
    while (std::scanf("%d %llu %llu", &function, &bytes, &ignored) == 3) {
      fill(ignored);
      ask(tuner, function, bytes, costs);
    }
  }
  if (tuner.finalize(tuner.context) != 0) give_up("the tuner does not end");
  return 0;
}

// ---- profiler

/// One interface over the three.
struct Profiler {
  int version = 5;
  void* context = nullptr;
  int mask = 0;
  int (*start_event)(void*, void**, const Descriptor*) = nullptr;
  int (*stop_event)(void*) = nullptr;
  int (*record_v5)(void*, int, const StateArguments*) = nullptr;
  int (*record_v3)(void*, int, const void*) = nullptr;
  int (*finalize)(void*) = nullptr;

  void* start(Descriptor event) const {
    if (version < 5) event.type |= 0xABCDEF00u;  // of one byte, in front of what happens to stand there
    void* handle = &event;                       // NCCL does not clear it
    if (start_event(context, &handle, &event) != 0) give_up("startEvent fails");
    return handle;
  }
  void stop(void* handle) const {
    if (handle != nullptr && stop_event(handle) != 0) give_up("stopEvent fails");
  }
  void record(void* handle, int state, std::size_t bytes) const {
    if (handle == nullptr || (version == 3 && state == kSendPeerWait)) return;
    const StateArguments arguments{bytes};
    if ((version == 3 ? record_v3(handle, state, nullptr) : record_v5(handle, state, &arguments)) != 0)
      give_up("recordEventState fails");
  }
};

Profiler open_profiler(void* library, int version, std::uint64_t id = 0xC0FFEE) {
  Profiler opened;
  int error = 0;
  if (const auto* v5 = find<ProfilerV5>(library, "ncclProfiler_v5"); v5 != nullptr && version >= 5) {
    error = v5->init(&opened.context, id, &opened.mask, "a \"world\"\n", 2, 2, 0, log);
    opened = {5, opened.context, opened.mask, v5->start, v5->stop, v5->record, nullptr, v5->finalize};
  } else if (const auto* v4 = find<ProfilerV4>(library, "ncclProfiler_v4"); v4 != nullptr && version >= 4) {
    error = v4->init(&opened.context, &opened.mask, nullptr, id, 2, 2, 0, log);
    opened = {4, opened.context, opened.mask, v4->start, v4->stop, v4->record, nullptr, v4->finalize};
  } else if (const auto* v3 = find<ProfilerV3>(library, "ncclProfiler_v3"); v3 != nullptr) {
    error = v3->init(&opened.context, &opened.mask);
    opened = {3, opened.context, opened.mask, v3->start, v3->stop, nullptr, v3->record, v3->finalize};
  } else {
    give_up("no profiler");
  }
  if (error != 0) give_up("the profiler cannot be used");
  return opened;
}

void* start_collective(const Profiler& profiler, std::uint64_t sequence) {
  Descriptor event{};
  event.type = kCollective;
  const CollectiveV5 of{sequence,      "AllReduce", nullptr, nullptr, 4096,    0,
                        "ncclFloat32", 2,           4,       "RING",  "SIMPLE"};
  if (profiler.version == 3)
    event.collective_v3 = {"world", 0xC0FFEE, of};
  else
    event.collective = of;
  return profiler.start(event);
}

/// What NCCL's proxy thread does for one channel and direction: eight steps are under way at most.
void run_operation(const Profiler& profiler, void* collective, bool sends, int pid, bool stays) {
  constexpr int kSteps = 12;
  Descriptor event{};
  event.type = kProxyOp;
  event.parent = collective;
  event.proxy_op = {pid, 1, 1, kSteps, 4096, sends ? 1 : 0};
  void* const operation = profiler.start(event);
  std::array<void*, kStepsUnderWay> handles{};
  for (int step = 0; step < kSteps; ++step) {
    Descriptor of{};
    of.type = kProxyStep;
    of.parent = operation;
    of.proxy_step = step;
    void*& handle = handles[static_cast<std::size_t>(step % kStepsUnderWay)];
    handle = profiler.start(of);
    profiler.record(handle, sends ? kSendGpuWait : kRecvWait, 0);
    profiler.record(handle, sends ? kSendPeerWait : kRecvFlushWait, 1024);
    if (sends) profiler.record(handle, kSendPeerWait, 1024);  // with each try
    profiler.record(handle, sends ? kSendWait : kRecvGpuWait, 1024);
    if (stays && step + 1 == kSteps) std::this_thread::sleep_for(std::chrono::milliseconds(3600));
    profiler.stop(handle);
  }
  profiler.stop(operation);
}

void use_once_more(const Profiler& profiler, void* collective) {
  Descriptor event{};
  event.type = kProxyStep;
  event.parent = collective;  // no operation
  profiler.stop(profiler.start(event));
  event.type = kProxyOp;
  event.proxy_op = {getpid(), 1, 1, 1, 1, 1};
  void* const operation = profiler.start(event);
  profiler.stop(operation);
  profiler.stop(operation);
  profiler.record(operation, kSendWait, 1);
  event.type = kProxyStep;
  event.parent = operation;
  profiler.stop(profiler.start(event));
  event.type = kProxyOp;
  for (std::uint64_t place = 1; place < 256; ++place) {  // of communicators that nobody opened
    event.parent = reinterpret_cast<void*>(place << 2U | 1U);
    profiler.stop(profiler.start(event));
  }
  event.type = kProxyStep;
  for (std::uint64_t bits = 1; bits != 0; bits <<= 1U) {
    profiler.record(reinterpret_cast<void*>(bits | 3U), kSendWait, 1);
    profiler.stop(reinterpret_cast<void*>(bits));
    event.parent = reinterpret_cast<void*>(bits);
    profiler.stop(profiler.start(event));
  }
}

void run_collectives(const Profiler& profiler, int count, const std::string& end) {
  const int pid = end == "other" ? getpid() + 1 : getpid();
  for (int i = 0; i < count; ++i) {
    void* const collective = start_collective(profiler, static_cast<std::uint64_t>(i));
    std::thread sender(
        [&] { run_operation(profiler, collective, true, pid, end == "waiting" && i + 1 == count); });
    std::thread receiver([&] { run_operation(profiler, collective, false, pid, false); });
    profiler.stop(collective);  // it is enqueued: long before its proxies end
    sender.join();
    receiver.join();
    if (end == "stale") use_once_more(profiler, collective);
  }
}

int run_profiler(void* library, int version, int count, const std::string& end) {
  Profiler profiler = open_profiler(library, version);
  std::printf("mask %d\n", profiler.mask);
  std::fflush(stdout);
  if (profiler.mask != 0) run_collectives(profiler, count, end);
  if (end == "fork") {
    const pid_t child = fork();
    if (child == 0) {
      run_collectives(profiler, count, end);  // of a communicator that is its parent's
      profiler = open_profiler(library, version);
      run_collectives(profiler, count, end);
      std::exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) return 4;
  }
  if (end == "kill") {
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    std::raise(SIGKILL);
  }
  if (end == "exit") return 0;
  if (end == "again") {  // another communicator at the place of the first
    profiler.finalize(profiler.context);
    profiler = open_profiler(library, version, 7);
    run_collectives(profiler, count, end);
  }
  profiler.finalize(profiler.context);
  dlclose(library);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  void* const library = argc < 4 ? nullptr : dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) give_up(argc < 4 ? "see the head of its source" : dlerror());
  const int version = std::atoi(argv[2]);
  const std::string what = argv[3];
  if (what == "tuner" && (argc == 6 || argc >= 8)) return ask_tuner(library, version, argc, argv);
  if (what == "profiler" && argc == 6) return run_profiler(library, version, std::atoi(argv[4]), argv[5]);
  give_up("see the head of its source");
}
