// A program that uses verbs as NCCL 2.28 does: libibverbs by dlopen, functions by dlvsym, queue pairs made in
// order, posts and completions by ibv_context::ops. It tells each queue pair in a line: its index, the flow
// label that it was connected with, messages, those that were wrong, drains, and all labels that messages
// went by.
//   verbs_client LIBRARY [NAME=VALUE ...]
// qps, messages (0: until each was told another label, 10 s at most), depth, inline=1, unsignaled=N (of so
// many one asks for a completion), label (the program's own), answers=1 (as the accepting side), all=1 (open
// to all that a peer can ask for, as UCX), bytes, flush=1, threads, fork=1, close=1 (destroys half of them
// while they move), peer (the last byte of its address), dlid (as the program leaves it), timeout and rnr (of
// the queue pair), rest (ms after a post that asks for no completion), greedy=1 (posts until the queue is
// full), watch=1 (makes and destroys queue pairs beside them; none of these calls may take 300 ms), unload=1
// (closes the library at the end, which must stay).
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "tests/nccl/fake_driver.hpp"

namespace {

using Clock = std::chrono::steady_clock;

std::map<std::string, long> options{
    {"qps", 4},   {"messages", 50}, {"depth", 16}, {"inline", 0},       {"unsignaled", 1},
    {"label", 0}, {"answers", 0},   {"bytes", 64}, {"flush", 0},        {"threads", 1},
    {"fork", 0},  {"close", 0},     {"peer", 2},   {"dlid", 0},         {"timeout", 20},
    {"rnr", 7},   {"rest", 0},      {"greedy", 0}, {"watch", 0},        {"unload", 0},
    {"all", 0},   {"fail", 0},      {"bears", 0},  {"communicators", 0}};

template <class F>
F call(void* library, const char* name, const char* version = "IBVERBS_1.1") {
  auto found = reinterpret_cast<F>(dlvsym(library, name, version));
  if (found == nullptr) {
    std::fprintf(stderr, "no %s: %s\n", name, dlerror());
    std::exit(2);
  }
  return found;
}

struct Calls {
  explicit Calls(void* library)
      : get_device_list(call<decltype(get_device_list)>(library, "ibv_get_device_list")),
        open_device(call<decltype(open_device)>(library, "ibv_open_device")),
        alloc_pd(call<decltype(alloc_pd)>(library, "ibv_alloc_pd")),
        create_cq(call<decltype(create_cq)>(library, "ibv_create_cq")),
        create_qp(call<decltype(create_qp)>(library, "ibv_create_qp")),
        modify_qp(call<decltype(modify_qp)>(library, "ibv_modify_qp")),
        destroy_qp(call<decltype(destroy_qp)>(library, "ibv_destroy_qp")),
        fail(call<decltype(fail)>(library, "fake_fail")),
        read_tally(call<decltype(read_tally)>(library, "fake_tally")) {}
  ibv_device** (*get_device_list)(int*);
  ibv_context* (*open_device)(ibv_device*);
  ibv_pd* (*alloc_pd)(ibv_context*);
  ibv_cq* (*create_cq)(ibv_context*, int, void*, ibv_comp_channel*, int);
  ibv_qp* (*create_qp)(ibv_pd*, ibv_qp_init_attr*);
  int (*modify_qp)(ibv_qp*, ibv_qp_attr*, int);
  int (*destroy_qp)(ibv_qp*);
  void (*fail)(ibv_qp*);
  FakeTally tally(ibv_qp* qp) const {
    FakeTally seen;
    read_tally(qp, &seen);
    return seen;
  }
  void (*read_tally)(ibv_qp*, FakeTally*);
};

constexpr std::size_t kSlots = 4;  // times the depth: a greedy one has more under way

struct Connection {
  ibv_qp* qp = nullptr;
  ibv_cq* cq = nullptr;
  std::vector<std::uint64_t> memory;  // of each message under way, its number
  std::uint64_t posted = 0;
  std::uint64_t ended = 0;   // as far as completions tell
  std::uint64_t failed = 0;  // completions with an error
};

void must(int error, const char* what) {
  if (error == 0) return;
  std::fprintf(stderr, "%s: %s\n", what, std::strerror(error));
  std::exit(3);
}

void connect(const Calls& calls, ibv_qp* qp, int peer) {
  ibv_qp_attr to{};
  to.qp_state = IBV_QPS_INIT;
  to.port_num = 1;
  to.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
  if (options["answers"] != 0 || options["all"] != 0) to.qp_access_flags |= IBV_ACCESS_REMOTE_ATOMIC;
  if (options["all"] != 0) to.qp_access_flags |= IBV_ACCESS_REMOTE_READ;
  must(calls.modify_qp(qp, &to, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
       "INIT");
  to = {};
  to.qp_state = IBV_QPS_RTR;
  to.dest_qp_num = 1000 + qp->qp_num;
  to.ah_attr.is_global = 1;
  to.ah_attr.port_num = 1;
  to.ah_attr.grh.flow_label = static_cast<std::uint32_t>(options["label"]);
  to.ah_attr.dlid = static_cast<std::uint16_t>(options["dlid"]);
  to.ah_attr.grh.dgid.raw[10] = to.ah_attr.grh.dgid.raw[11] = 0xFF;
  to.ah_attr.grh.dgid.raw[12] = 10;
  to.ah_attr.grh.dgid.raw[15] = static_cast<std::uint8_t>(peer);
  const ibv_qp_attr given = to;
  must(calls.modify_qp(qp, &to, IBV_QP_STATE | IBV_QP_AV | IBV_QP_DEST_QPN), "RTR");
  if (std::memcmp(&given, &to, sizeof to) != 0) must(EINVAL, "what the program gave has changed");
  to = {};
  to.qp_state = IBV_QPS_RTS;
  to.timeout = static_cast<std::uint8_t>(options["timeout"]);
  to.retry_cnt = 7;
  to.rnr_retry = static_cast<std::uint8_t>(options["rnr"]);
  must(calls.modify_qp(qp, &to,
                       IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY),
       "RTS");
}

Connection make(const Calls& calls, ibv_context* context, ibv_pd* pd, int peer) {
  Connection made;
  made.cq = calls.create_cq(context, 1024, nullptr, nullptr, 0);
  ibv_qp_init_attr wanted{};
  wanted.send_cq = wanted.recv_cq = made.cq;
  wanted.qp_type = IBV_QPT_RC;
  wanted.cap = {static_cast<std::uint32_t>(options["depth"]), 1, 1, 1, 64};
  made.qp = calls.create_qp(pd, &wanted);
  connect(calls, made.qp, peer);
  made.memory.resize(kSlots * static_cast<std::size_t>(options["depth"]) *
                     std::max<std::size_t>(1, static_cast<std::size_t>(options["bytes"]) / 8));
  return made;
}

/// Posts as much as the depth allows.
void post(Connection& connection) {
  const auto depth = static_cast<std::uint64_t>(options["depth"]);
  const auto ask = static_cast<std::uint64_t>(options["unsignaled"]);
  const bool copied = options["inline"] != 0;
  const bool greedy = options["greedy"] != 0;
  while (greedy || connection.posted - connection.ended < depth) {
    const std::size_t slot =
        connection.posted % (kSlots * depth) * (connection.memory.size() / (kSlots * depth));
    connection.memory[slot] = connection.posted;
    ibv_sge piece{reinterpret_cast<std::uintptr_t>(&connection.memory[slot]),
                  static_cast<std::uint32_t>(options["bytes"]), 0};
    ibv_send_wr request{};
    request.wr_id = connection.posted;
    request.sg_list = &piece;
    request.num_sge = 1;
    request.opcode = IBV_WR_RDMA_WRITE;
    request.send_flags =
        (connection.posted % ask == ask - 1 ? IBV_SEND_SIGNALED : 0) | (copied ? IBV_SEND_INLINE : 0);
    ibv_send_wr* bad = nullptr;
    const int error = connection.qp->context->ops.post_send(connection.qp, &request, &bad);
    if (greedy && error == ENOMEM) return;
    must(error, "post_send");
    if (copied) connection.memory[slot] = ~0ull;  // it is the program's again
    ++connection.posted;
    if (options["rest"] != 0 && (request.send_flags & IBV_SEND_SIGNALED) == 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(options["rest"]));
  }
}

void poll(Connection& connection) {
  ibv_wc completions[16];
  const int count = connection.cq->context->ops.poll_cq(connection.cq, 16, completions);
  for (int i = 0; i < count; ++i) {
    const bool failed = completions[i].status != IBV_WC_SUCCESS;
    if (failed && options["bears"] == 0) must(EIO, "completion");
    if (!failed) {
      connection.ended = completions[i].wr_id + 1;
      continue;
    }
    if (connection.failed == 0) connection.ended = completions[i].wr_id;  // those before have gone
    if (completions[i].wr_id != connection.ended + connection.failed++) must(EIO, "the order of errors");
  }
}

/// Makes and destroys a queue pair.
void make_another(const Calls& calls, ibv_context* context, ibv_pd* pd) {
  const auto start = Clock::now();
  must(calls.destroy_qp(make(calls, context, pd, static_cast<int>(options["peer"])).qp), "destroy");
  if (Clock::now() - start > std::chrono::milliseconds(300)) must(ETIMEDOUT, "a call of the job");
}

void run(const Calls& calls, ibv_context* context, ibv_pd* pd, std::vector<Connection>& connections) {
  const auto messages = static_cast<std::uint64_t>(options["messages"]);
  const auto until = Clock::now() + std::chrono::seconds(10);
  for (bool goes_on = true; goes_on && Clock::now() < until;) {
    goes_on = false;
    if (options["watch"] != 0) make_another(calls, context, pd);
    for (Connection& connection : connections) {
      if (connection.failed == 0) post(connection);
      poll(connection);
      const FakeTally tally = calls.tally(connection.qp);
      if (connection.failed > 0)
        goes_on = goes_on || connection.posted > connection.ended + connection.failed;
      else
        goes_on = goes_on || (messages > 0 ? tally.messages < messages : tally.count < 2);
    }
    Connection& first = connections.front();
    if (options["fail"] != 0 && first.failed == 0 && first.posted > calls.tally(first.qp).posted)
      calls.fail(first.qp);
  }
  if (options["bears"] != 0 && Clock::now() >= until) must(ETIMEDOUT, "neither an error nor an end");
  for (const Connection& one : connections)
    if (one.failed > 0 && one.posted != one.ended + one.failed) must(EIO, "a post never came back");
}

/// Destroys every other one while they have work, and makes as many again.
void close_some(const Calls& calls, std::vector<Connection>& connections, ibv_context* context, ibv_pd* pd) {
  for (int turn = 0; turn < 40; ++turn)
    for (std::size_t i = 0; i < connections.size(); i += 2) {
      for (Connection& connection : connections) post(connection), poll(connection);
      calls.destroy_qp(connections[i].qp);
      connections[i] = make(calls, context, pd, static_cast<int>(options["peer"]));
    }
}

void tell(const Calls& calls, const std::vector<Connection>& connections) {
  for (std::size_t i = 0; i < connections.size(); ++i) {
    const FakeTally tally = calls.tally(connections[i].qp);
    std::printf("%zu %u %llu %llu %u", i, tally.first_label, static_cast<unsigned long long>(tally.messages),
                static_cast<unsigned long long>(tally.wrong), tally.drains);
    for (int label = 0; label < tally.count; ++label) std::printf(" %u", tally.labels[label]);
    std::printf("\n");
  }
  std::fflush(stdout);
}

std::vector<Connection> make_some(const Calls& calls, ibv_context* context, ibv_pd* pd, std::size_t count) {
  std::vector<Connection> connections;
  for (std::size_t i = 0; i < count; ++i)
    connections.push_back(make(calls, context, pd, static_cast<int>(options["peer"])));
  return connections;
}

void communicators(const Calls& calls, ibv_context* context, std::size_t count) {
  ibv_pd* pd = calls.alloc_pd(context);
  auto older = make_some(calls, context, pd, count);
  run(calls, context, pd, older);
  tell(calls, older);
  for (int turn = 0; turn < 3; ++turn) {
    auto newer = make_some(calls, context, pd, count);
    run(calls, context, pd, older);
    run(calls, context, pd, newer);
    tell(calls, newer);
    for (Connection& connection : older) must(calls.destroy_qp(connection.qp), "destroy");
    older = std::move(newer);
  }
}

void work(const Calls& calls, ibv_context* context, std::size_t count) {
  if (options["communicators"] != 0) return communicators(calls, context, count);
  ibv_pd* pd = calls.alloc_pd(context);
  auto connections = make_some(calls, context, pd, count);
  if (options["flush"] != 0) connections.push_back(make(calls, context, pd, 1));
  if (options["close"] != 0) close_some(calls, connections, context, pd);
  run(calls, context, pd, connections);
  tell(calls, connections);
  for (Connection& connection : connections) must(calls.destroy_qp(connection.qp), "destroy");
}

/// What a tuner plugin is asked for by an NCCL that knows no other; it stays open.
void open_tuner() {
  const char* const name = std::getenv("NCCL_TUNER_PLUGIN");
  if (name == nullptr) return;
  void* const plugin = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (plugin == nullptr || dlsym(plugin, "ncclTunerPlugin_v3") == nullptr) must(ENOENT, "the tuner plugin");
}

int without_verbs() {
  constexpr const char* kVersion = "GLIBC_2.2.5";
  const auto found = reinterpret_cast<decltype(&std::snprintf)>(dlvsym(RTLD_DEFAULT, "snprintf", kVersion));
  char text[8] = "";
  if (found == nullptr || found(text, sizeof text, "%d", 42) != 2 || std::string(text) != "42") return 7;
  if (dlvsym(RTLD_DEFAULT, "ibv_get_device_list", "IBVERBS_1.1") != nullptr) return 8;
  if (dlopen("libibverbs.so.1", RTLD_NOW | RTLD_NOLOAD) != nullptr) return 9;
  // The preloaded library shows these itself, to a program that asks for anybody's.
  ibv_qp_attr attributes{};
  for (void* modify :
       {dlsym(RTLD_DEFAULT, "ibv_modify_qp"), dlvsym(RTLD_DEFAULT, "ibv_modify_qp", "IBVERBS_1.1")})
    if (modify != nullptr &&
        reinterpret_cast<decltype(&ibv_modify_qp)>(modify)(nullptr, &attributes, 0) != ENOSYS)
      return 10;
  for (void* destroy :
       {dlsym(RTLD_DEFAULT, "ibv_destroy_qp"), dlvsym(RTLD_DEFAULT, "ibv_destroy_qp", "IBVERBS_1.1")})
    if (destroy != nullptr && reinterpret_cast<decltype(&ibv_destroy_qp)>(destroy)(nullptr) != ENOSYS)
      return 11;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "no-verbs") == 0) return without_verbs();
  open_tuner();
  for (int i = 2; i < argc; ++i) {
    const std::string word = argv[i];
    options[word.substr(0, word.find('='))] = std::strtol(word.c_str() + word.find('=') + 1, nullptr, 10);
  }
  void* library = argc < 2 ? nullptr : dlopen(argv[1], RTLD_NOW);
  if (library == nullptr) return 2;
  const Calls calls(library);
  int count = 0;
  ibv_context* context = calls.open_device(calls.get_device_list(&count)[0]);
  const auto qps = static_cast<std::size_t>(options["qps"]);
  if (options["fork"] != 0) {
    work(calls, context, qps);
    const pid_t child = fork();
    if (child == 0) {
      work(calls, context, qps);
      std::exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) return 4;
  }
  std::vector<std::thread> threads;
  for (long i = 1; i < options["threads"]; ++i) threads.emplace_back(work, std::cref(calls), context, qps);
  work(calls, context, qps);
  for (std::thread& thread : threads) thread.join();
  if (options["unload"] == 0) return 0;
  dlclose(library);
  return dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD) == nullptr ? 6 : 0;
}
