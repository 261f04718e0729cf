// One process of a ring that uses verbs as NCCL 2.28 does: libibverbs by dlopen, functions by dlvsym; to the
// next process it connects queue pairs that write data, the one before is answered with credits. Each byte
// that comes is compared. It prints a line: messages that came, those that were wrong, completions with an
// error.
//   ring_client DEVICE GID_INDEX LISTEN_PORT NEXT_HOST NEXT_PORT QPS MESSAGES BYTES PAUSE_US [lockstep]
//               [depth=N] [TIMEOUT]
// With 0 messages it goes on until SIGTERM, then tells the next process how many it sent and waits for its
// own. In lockstep a message is sent once those before it have come on all queue pairs, as steps of an
// all-reduce are: where one waits, all do. A queue pair has up to N messages under way (8). A lost packet is
// sent again after 4.096 us * 2^TIMEOUT (19).
#include <arpa/inet.h>
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t kMaxDepth = 1024;
constexpr std::chrono::seconds kPatience{280};
using Clock = std::chrono::steady_clock;
std::atomic<bool> told_to_end{false};

[[noreturn]] void die(const char* what, int error = errno) {
  std::fprintf(stderr, "ring_client: %s: %s\n", what, std::strerror(error));
  std::exit(3);
}

struct Verbs {
  template <class F>
  void find(F& place, const char* name, const char* version = "IBVERBS_1.1") {
    place = reinterpret_cast<F>(dlvsym(library, name, version));
    if (place == nullptr) die(name, ENOENT);
  }
  Verbs() {
    if (library == nullptr) die("libibverbs", ENOENT);
    find(get_device_list, "ibv_get_device_list");
    find(get_device_name, "ibv_get_device_name");
    find(open_device, "ibv_open_device");
    find(query_gid, "ibv_query_gid");
    find(alloc_pd, "ibv_alloc_pd");
    find(register_memory, "ibv_reg_mr");
    find(create_cq, "ibv_create_cq");
    find(create_qp, "ibv_create_qp");
    find(modify_qp, "ibv_modify_qp");
    find(destroy_qp, "ibv_destroy_qp");
  }
  void* library = dlopen("libibverbs.so.1", RTLD_NOW);
  ibv_device** (*get_device_list)(int*);
  const char* (*get_device_name)(ibv_device*);
  ibv_context* (*open_device)(ibv_device*);
  int (*query_gid)(ibv_context*, std::uint8_t, int, ibv_gid*);
  ibv_pd* (*alloc_pd)(ibv_context*);
  ibv_mr* (*register_memory)(ibv_pd*, void*, std::size_t, int);
  ibv_cq* (*create_cq)(ibv_context*, int, void*, ibv_comp_channel*, int);
  ibv_qp* (*create_qp)(ibv_pd*, ibv_qp_init_attr*);
  int (*modify_qp)(ibv_qp*, ibv_qp_attr*, int);
  int (*destroy_qp)(ibv_qp*);
};

/// What one end of a queue pair tells the other.
struct End {
  std::uint32_t qp;
  std::uint32_t key;
  std::uint64_t address;
  ibv_gid gid;
};

/// Queue pairs to one neighbour: those that send data or those that answer.
struct Side {
  bool sends = false;
  ibv_cq* cq = nullptr;
  std::vector<ibv_qp*> qps;
  std::vector<End> peers;
  std::vector<std::uint64_t>
      memory;  // for each queue pair: as many messages as may be under way, and a credit
  ibv_mr* region = nullptr;
  std::vector<std::uint64_t> done;    // messages sent, or taken, of each queue pair
  std::vector<std::uint64_t> wanted;  // that many in all
  std::uint64_t under_way = 0;        // work requests
  bool is_done() const { return done == wanted && under_way == 0; }
};

struct Options {
  std::string device;
  int gid_index = 0;
  std::size_t qps = 0;
  std::uint64_t messages = 0;  // of a queue pair; 0: until SIGTERM
  std::size_t words = 0;       // of a message, 8 bytes each
  std::chrono::microseconds pause{0};
  std::uint64_t depth = 8;  // messages of a queue pair that may be under way
  bool lockstep = false;
  std::uint8_t timeout = 19;  // 17 s until it gives up: a link's failure is seen and routed around by then
};

std::size_t stride(const Options& options) { return options.depth * options.words + 1; }

void transfer(int socket, void* data, std::size_t size, bool send_it) {
  for (std::size_t at = 0; at < size;) {
    char* here = static_cast<char*>(data) + at;
    const ssize_t moved = send_it ? send(socket, here, size - at, 0) : recv(socket, here, size - at, 0);
    if (moved <= 0) die("the neighbour has gone");
    at += static_cast<std::size_t>(moved);
  }
}

int dial(const std::string& host, std::uint16_t port) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  inet_pton(AF_INET, host.c_str(), &to.sin_addr);
  for (const auto until = Clock::now() + kPatience; Clock::now() < until;) {
    const int made = socket(AF_INET, SOCK_STREAM, 0);
    if (::connect(made, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0) return made;
    close(made);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  die("connect");
}

int listen_at(std::uint16_t port) {
  const int made = socket(AF_INET, SOCK_STREAM, 0);
  const int yes = 1;
  setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(port);
  if (bind(made, reinterpret_cast<sockaddr*>(&at), sizeof at) != 0 || listen(made, 1) != 0) die("listen");
  return made;
}

void connect_qp(Verbs& verbs, ibv_qp* qp, const End& peer, const Options& options) {
  ibv_qp_attr to{};
  to.qp_state = IBV_QPS_RTR;
  to.path_mtu = IBV_MTU_1024;
  to.dest_qp_num = peer.qp;
  to.max_dest_rd_atomic = 1;
  to.min_rnr_timer = 12;
  to.ah_attr.is_global = 1;
  to.ah_attr.port_num = 1;
  to.ah_attr.grh.dgid = peer.gid;
  to.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(options.gid_index);
  to.ah_attr.grh.hop_limit = 255;
  if (const int error = verbs.modify_qp(qp, &to,
                                        IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                            IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER))
    die("RTR", error);
  to = {};
  to.qp_state = IBV_QPS_RTS;
  to.timeout = options.timeout;  // NCCL's own is 20: 34 s, and each lost last packet waits twice as long
  to.retry_cnt = 7;
  to.rnr_retry = 7;
  to.max_rd_atomic = 1;
  if (const int error = verbs.modify_qp(qp, &to,
                                        IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                            IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC))
    die("RTS", error);
}

Side make_side(Verbs& verbs, ibv_context* context, ibv_pd* pd, int socket, bool sends,
               const Options& options) {
  Side side;
  side.sends = sends;
  side.cq = verbs.create_cq(context, static_cast<int>(4 * options.depth * options.qps), nullptr, nullptr, 0);
  side.memory.resize(options.qps * stride(options) + options.qps);
  side.region = verbs.register_memory(pd, side.memory.data(), side.memory.size() * 8,
                                      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  if (side.cq == nullptr || side.region == nullptr) die("memory");
  side.done.resize(options.qps);
  side.wanted.assign(options.qps, options.messages == 0 ? UINT64_MAX : options.messages);
  ibv_gid gid{};
  verbs.query_gid(context, 1, options.gid_index, &gid);
  for (std::size_t i = 0; i < options.qps; ++i) {
    ibv_qp_init_attr wanted{};
    wanted.send_cq = wanted.recv_cq = side.cq;
    wanted.qp_type = IBV_QPT_RC;
    wanted.cap = {static_cast<std::uint32_t>(2 * options.depth), 1, 1, 1, 16};
    ibv_qp* qp = verbs.create_qp(pd, &wanted);
    if (qp == nullptr) die("create_qp");
    ibv_qp_attr to{};
    to.qp_state = IBV_QPS_INIT;
    to.port_num = 1;
    to.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | (sends ? 0 : IBV_ACCESS_REMOTE_ATOMIC);
    if (const int error =
            verbs.modify_qp(qp, &to, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
      die("INIT", error);
    side.qps.push_back(qp);
    End own{qp->qp_num, side.region->rkey,
            reinterpret_cast<std::uintptr_t>(&side.memory[i * stride(options)]), gid};
    End peer{};
    transfer(socket, &own, sizeof own, true);
    transfer(socket, &peer, sizeof peer, false);
    side.peers.push_back(peer);
    connect_qp(verbs, qp, peer, options);
  }
  char ready = 1;
  transfer(socket, &ready, 1, true);
  transfer(socket, &ready, 1, false);
  return side;
}

std::uint64_t word_of(std::uint64_t message, std::size_t qp, std::size_t word) {
  return (message + 1) * 0x9E3779B97F4A7C15ull + qp * 1'000'003 + word;
}

void write_words(Side& side, std::size_t i, const std::uint64_t* from, std::size_t words, std::uint64_t to,
                 bool copied) {
  ibv_sge piece{reinterpret_cast<std::uintptr_t>(from), static_cast<std::uint32_t>(words * 8),
                side.region->lkey};
  ibv_send_wr request{};
  request.sg_list = &piece;
  request.num_sge = 1;
  request.opcode = IBV_WR_RDMA_WRITE;
  request.send_flags = IBV_SEND_SIGNALED | (copied ? IBV_SEND_INLINE : 0);
  request.wr.rdma = {to, side.peers[i].key};
  ibv_send_wr* bad = nullptr;
  if (const int error = side.qps[i]->context->ops.post_send(side.qps[i], &request, &bad))
    die("post_send", error);
  ++side.under_way;
}

/// Sends one message, where credits and (in lockstep) the messages that came allow.
void send_next(Side& side, std::size_t i, const Side& from, const Options& options) {
  if (options.lockstep && *std::min_element(from.done.begin(), from.done.end()) < side.done[i]) return;
  std::uint64_t* own = &side.memory[i * stride(options)];
  const std::uint64_t credit = __atomic_load_n(&own[options.depth * options.words], __ATOMIC_ACQUIRE);
  if (side.done[i] == side.wanted[i] || side.done[i] - credit >= options.depth) return;
  const std::size_t slot = side.done[i] % options.depth * options.words;
  for (std::size_t word = 0; word < options.words; ++word) own[slot + word] = word_of(side.done[i], i, word);
  write_words(side, i, own + slot, options.words, side.peers[i].address + slot * 8, false);
  ++side.done[i];
}

/// Takes the next message when its last word has come, and gives the credit.
std::uint64_t take_next(Side& side, std::size_t i, const Options& options) {
  if (side.done[i] == side.wanted[i]) return 0;
  const std::uint64_t* came =
      &side.memory[i * stride(options) + side.done[i] % options.depth * options.words];
  if (__atomic_load_n(&came[options.words - 1], __ATOMIC_ACQUIRE) !=
      word_of(side.done[i], i, options.words - 1))
    return 0;
  std::uint64_t wrong = 0;
  for (std::size_t word = 0; word < options.words; ++word)
    wrong += came[word] != word_of(side.done[i], i, word);
  ++side.done[i];
  const std::uint64_t credit = side.done[i];
  write_words(side, i, &credit, 1, side.peers[i].address + options.depth * options.words * 8, true);
  return wrong > 0 ? 1 : 0;
}

/// Completions with an error.
std::uint64_t poll(Side& side) {
  ibv_wc completions[16];
  const int count = side.cq->context->ops.poll_cq(side.cq, 16, completions);
  std::uint64_t errors = 0;
  for (int i = 0; i < count; ++i) {
    errors += completions[i].status != IBV_WC_SUCCESS;
    --side.under_way;
  }
  return errors;
}

struct Outcome {
  std::uint64_t wrong = 0;   // messages
  std::uint64_t errors = 0;  // completions
};

/// Sends and takes messages until all have come, one completion has an error, or the time is over.
Outcome circulate(Side& to, Side& from, int next, int before, const Options& options) {
  Outcome outcome;
  const std::size_t size = options.qps * sizeof(std::uint64_t);
  std::vector<std::uint64_t> will_come(options.qps);
  std::size_t heard = options.messages == 0 ? 0 : size;  // bytes of what the process before says that it sent
  bool has_told = options.messages != 0;
  const auto until = Clock::now() + kPatience;
  while (outcome.errors == 0 && Clock::now() < until && !(to.is_done() && from.is_done())) {
    if (!has_told && told_to_end) {
      to.wanted = to.done;
      transfer(next, to.wanted.data(), size, true);
      has_told = true;
    }
    if (heard < size) {
      const ssize_t got =
          recv(before, reinterpret_cast<char*>(will_come.data()) + heard, size - heard, MSG_DONTWAIT);
      heard += got > 0 ? static_cast<std::size_t>(got) : 0;
      if (heard == size) from.wanted = will_come;
    }
    for (std::size_t i = 0; i < options.qps; ++i) {
      send_next(to, i, from, options);
      outcome.wrong += take_next(from, i, options);
    }
    outcome.errors += poll(to) + poll(from);
    std::this_thread::sleep_for(options.pause);
  }
  return outcome;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 10 || argc > 13) return 64;
  const auto number = [&](int i) { return std::strtoul(argv[i], nullptr, 10); };
  Options options{argv[1],   static_cast<int>(number(2)),  number(6),
                  number(7), std::max(1ul, number(8) / 8), std::chrono::microseconds(number(9))};
  for (int i = 10; i < argc; ++i)
    if (std::strcmp(argv[i], "lockstep") == 0)
      options.lockstep = true;
    else if (std::strncmp(argv[i], "depth=", 6) == 0)
      options.depth = std::strtoul(argv[i] + 6, nullptr, 10);
    else
      options.timeout = static_cast<std::uint8_t>(number(i));
  if (options.depth == 0 || options.depth > kMaxDepth) return 64;
  std::signal(SIGTERM, [](int) { told_to_end = true; });
  Verbs verbs;
  int count = 0;
  ibv_device** devices = verbs.get_device_list(&count);
  ibv_context* context = nullptr;
  for (int i = 0; i < count; ++i)
    if (options.device == verbs.get_device_name(devices[i])) context = verbs.open_device(devices[i]);
  if (context == nullptr) die("no such device", ENODEV);
  ibv_pd* pd = verbs.alloc_pd(context);
  const int listening = listen_at(static_cast<std::uint16_t>(number(3)));
  int next = -1;
  std::thread dialling([&] { next = dial(argv[4], static_cast<std::uint16_t>(number(5))); });
  const int before = accept(listening, nullptr, nullptr);
  dialling.join();
  Side from;
  std::thread answering([&] { from = make_side(verbs, context, pd, before, false, options); });
  Side to = make_side(verbs, context, pd, next, true, options);
  answering.join();
  const Outcome outcome = circulate(to, from, next, before, options);
  // Who ends first takes its queue pairs with it, and what its neighbours wait for is never acknowledged.
  for (const int neighbour : {next, before}) {
    const timeval patience{.tv_sec = 30, .tv_usec = 0};
    setsockopt(neighbour, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    (void)!write(neighbour, "e", 1);
  }
  char ended = 0;
  for (const int neighbour : {next, before}) (void)!read(neighbour, &ended, 1);
  std::uint64_t came = 0;
  for (const std::uint64_t messages : from.done) came += messages;
  std::printf("%llu %llu %llu\n", static_cast<unsigned long long>(came),
              static_cast<unsigned long long>(outcome.wrong),
              static_cast<unsigned long long>(outcome.errors));
  return to.is_done() && from.is_done() && outcome.wrong + outcome.errors == 0 ? 0 : 1;
}
