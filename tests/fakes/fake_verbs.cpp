#include "tests/fakes/fake_verbs.hpp"

#include <fmt/format.h>
#include <infiniband/verbs.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "probes/engine/verbs/verbs_device.hpp"
#include "topology/base/check.hpp"

namespace weft::testing {
namespace {

constexpr int kUnreachable = IBV_WC_RETRY_EXC_ERR;  // 12
constexpr int kMtu = IBV_MTU_4096;

struct Device {
  ibv_device device{};
  std::string name;
  Gid gid{};
  bool has_gid = true;
  std::optional<std::chrono::nanoseconds> ahead;  // of the clock by which it stamps
  std::optional<std::size_t> passes;              // messages until it is cut off
  ReadLimits reads{16, 16};
  ReadLimits reads_given;
  bool is_cut() const { return passes && *passes == 0; }
};

struct Context {
  verbs_context verbs{};  // its last member is the context that callers see
  Device* device = nullptr;
};

struct Queue {
  ibv_cq_ex cq{};  // begins as an ibv_cq does
  Device* stamped_by = nullptr;
  ibv_wc now{};  // of a queue that stamps: what is being read
  std::deque<ibv_wc> done;
  std::size_t entries = 0;
  bool overran = false;
  bool armed = false;
};

struct Work {
  ibv_send_wr request{};
  ibv_sge piece{};
};

struct Pair {
  ibv_qp qp{};
  ibv_qp_cap cap{};
  Device* device = nullptr;
  ibv_ah_attr route{};
  std::uint32_t to = 0;
  ibv_qp_state state = IBV_QPS_RESET;
  std::deque<ibv_recv_wr> receives;
  std::deque<ibv_sge> receive_pieces;  // of the same places
  std::deque<Work> waiting;            // for a receive at the far end
};

}  // namespace

struct FakeVerbs::State {
  mutable std::mutex mutex;
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<ibv_device*> list;
  std::map<std::uint32_t, Pair*> pairs;     // by number
  std::map<std::uint32_t, ibv_mr*> memory;  // by key
  std::uint32_t next = 17;
  std::size_t held = 0;
  std::size_t messages = 0;
  std::size_t doorbells = 0;
  std::size_t copied = 0;
  std::optional<std::size_t> entries;
  struct Refusal {
    Call call;
    int error;
    std::size_t after;
  };
  std::vector<Refusal> refusals;

  /// The error number of a call that is to fail now.
  int refused(Call call) {
    for (auto at = refusals.begin(); at != refusals.end(); ++at) {
      if (at->call != call || at->after-- > 0) continue;
      const int error = at->error;
      refusals.erase(at);
      return errno = error;
    }
    return 0;
  }

  void complete(ibv_cq* cq, const ibv_wc& wc) {
    auto& queue = *reinterpret_cast<Queue*>(cq);
    if (queue.done.size() >= queue.entries) queue.overran = true;
    queue.done.push_back(wc);
    const std::uint64_t one = 1;
    if (queue.armed && write(cq->channel->fd, &one, sizeof one) == sizeof one) queue.armed = false;
  }
  void finish(Pair& from, const ibv_send_wr& work, int status) {
    if (status != IBV_WC_SUCCESS) from.state = IBV_QPS_ERR;
    if (status == IBV_WC_SUCCESS && (work.send_flags & IBV_SEND_SIGNALED) == 0) return;
    ibv_wc wc{};
    wc.wr_id = work.wr_id;
    wc.qp_num = from.qp.qp_num;
    wc.status = static_cast<ibv_wc_status>(status);
    wc.opcode = IBV_WC_SEND;
    complete(from.qp.send_cq, wc);
  }

  bool passes(Device& device) {
    if (device.is_cut()) return false;
    if (device.passes) --*device.passes;
    return true;
  }

  /// False: it must wait for a receive.
  bool carry(Pair& from, const Work& work) {
    if (from.state == IBV_QPS_ERR) return finish(from, work.request, IBV_WC_WR_FLUSH_ERR), true;
    const bool reliable = from.qp.qp_type == IBV_QPT_RC;
    const auto found = pairs.find(from.to);
    Pair* to = found == pairs.end() || found->second->state < IBV_QPS_RTR ? nullptr : found->second;
    if (to == nullptr || !passes(*from.device) || !passes(*to->device))
      return finish(from, work.request, reliable ? kUnreachable : int{IBV_WC_SUCCESS}), true;
    if (work.request.opcode != IBV_WR_SEND) return finish(from, work.request, reach(work)), true;
    if (to->receives.empty()) return reliable ? false : (finish(from, work.request, IBV_WC_SUCCESS), true);
    receive(*to, work.piece);
    finish(from, work.request, IBV_WC_SUCCESS);
    return true;
  }

  int reach(const Work& work) {
    const auto& there = work.request.wr.rdma;
    const auto found = memory.find(there.rkey);
    if (found == memory.end()) return IBV_WC_REM_ACCESS_ERR;
    const auto start = reinterpret_cast<std::uint64_t>(found->second->addr);
    if (there.remote_addr < start || there.remote_addr + work.piece.length > start + found->second->length)
      return IBV_WC_REM_ACCESS_ERR;
    auto* far = reinterpret_cast<void*>(there.remote_addr);
    auto* near = reinterpret_cast<void*>(work.piece.addr);
    const bool writes = work.request.opcode == IBV_WR_RDMA_WRITE;
    std::memcpy(writes ? far : near, writes ? near : far, work.piece.length);
    ++messages;
    return IBV_WC_SUCCESS;
  }

  void receive(Pair& to, const ibv_sge& piece) {
    const ibv_sge into = to.receive_pieces.front();
    ibv_wc wc{};
    wc.wr_id = to.receives.front().wr_id;
    wc.qp_num = to.qp.qp_num;
    wc.opcode = IBV_WC_RECV;
    wc.byte_len = piece.length;
    wc.status = piece.length <= into.length ? IBV_WC_SUCCESS : IBV_WC_LOC_LEN_ERR;
    std::memcpy(reinterpret_cast<void*>(into.addr), reinterpret_cast<const void*>(piece.addr),
                std::min(piece.length, into.length));
    to.receives.pop_front();
    to.receive_pieces.pop_front();
    ++messages;
    complete(to.qp.recv_cq, wc);
  }

  void carry_waiting(Pair& from) {
    while (!from.waiting.empty() && carry(from, from.waiting.front())) from.waiting.pop_front();
  }
};

namespace {

FakeVerbs::State* current = nullptr;

using Call = FakeVerbs::Call;

std::unique_lock<std::mutex> lock() { return std::unique_lock(current->mutex); }

Device& device_of(ibv_context* context) {
  return *reinterpret_cast<Context*>(reinterpret_cast<std::byte*>(context) - offsetof(verbs_context, context))
              ->device;
}

template <class T>
T* make() {
  ++current->held;
  return new T();
}
template <class T>
int give_back(T* object) {
  --current->held;
  delete object;
  return 0;
}

int query_port(ibv_context*, std::uint8_t, ibv_port_attr* port, std::size_t) {
  port->state = IBV_PORT_ACTIVE;
  port->active_mtu = static_cast<ibv_mtu>(kMtu);
  port->link_layer = IBV_LINK_LAYER_ETHERNET;
  return 0;
}

int poll_cq(ibv_cq* cq, int most, ibv_wc* into) {
  const auto guard = lock();
  auto& queue = *reinterpret_cast<Queue*>(cq);
  if (queue.overran) return -1;
  int count = 0;
  for (; count < most && !queue.done.empty(); ++count) {
    into[count] = queue.done.front();
    queue.done.pop_front();
  }
  return count;
}

int req_notify_cq(ibv_cq* cq, int) {
  const auto guard = lock();
  reinterpret_cast<Queue*>(cq)->armed = true;
  return 0;
}

int post_send(ibv_qp* qp, ibv_send_wr* request, ibv_send_wr** bad) {
  const auto guard = lock();
  auto& from = *reinterpret_cast<Pair*>(qp);
  ++current->doorbells;
  for (; request != nullptr; request = request->next) {
    if (const int error = current->refused(Call::post_send)) return *bad = request, error;
    if ((request->send_flags & IBV_SEND_INLINE) != 0) {
      if (request->sg_list->length > from.cap.max_inline_data) return *bad = request, EINVAL;
      ++current->copied;
    }
    Work work{*request, *request->sg_list};
    if (!from.waiting.empty() || !current->carry(from, work)) from.waiting.push_back(work);
  }
  return 0;
}

int post_recv(ibv_qp* qp, ibv_recv_wr* request, ibv_recv_wr** bad) {
  const auto guard = lock();
  auto& pair = *reinterpret_cast<Pair*>(qp);
  for (; request != nullptr; request = request->next) {
    if (pair.receives.size() >= pair.cap.max_recv_wr) return *bad = request, ENOMEM;
    pair.receives.push_back(*request);
    pair.receive_pieces.push_back(*request->sg_list);
  }
  if (const auto sender = current->pairs.find(pair.to); sender != current->pairs.end())
    current->carry_waiting(*sender->second);
  return 0;
}

ibv_device** get_device_list(int* count) {
  *count = static_cast<int>(current->devices.size());
  return current->list.data();
}
void free_device_list(ibv_device**) {}
const char* get_device_name(ibv_device* device) { return reinterpret_cast<Device*>(device)->name.c_str(); }

// Queues that stamp are read entry by entry.
Queue& queue_of(ibv_cq_ex* cq) { return *reinterpret_cast<Queue*>(cq); }
int next_poll(ibv_cq_ex* cq) {
  const auto guard = lock();
  Queue& queue = queue_of(cq);
  if (queue.overran) return EIO;
  if (queue.done.empty()) return ENOENT;
  queue.now = queue.done.front();
  queue.done.pop_front();
  cq->wr_id = queue.now.wr_id;
  cq->status = queue.now.status;
  return 0;
}
int start_poll(ibv_cq_ex* cq, ibv_poll_cq_attr*) { return next_poll(cq); }
void end_poll(ibv_cq_ex*) {}
std::uint32_t read_qp_num(ibv_cq_ex* cq) { return queue_of(cq).now.qp_num; }
std::uint32_t read_byte_len(ibv_cq_ex* cq) { return queue_of(cq).now.byte_len; }
ibv_wc_opcode read_opcode(ibv_cq_ex* cq) { return queue_of(cq).now.opcode; }
std::uint64_t read_completion_ts(ibv_cq_ex* cq) {
  const auto since = std::chrono::steady_clock::now().time_since_epoch() + *queue_of(cq).stamped_by->ahead;
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(since).count());
}
ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* wanted) {
  const auto guard = lock();
  auto* made = make<Queue>();
  made->cq.context = context;
  made->cq.channel = wanted->channel;
  made->cq.start_poll = start_poll;
  made->cq.next_poll = next_poll;
  made->cq.end_poll = end_poll;
  made->cq.read_qp_num = read_qp_num;
  made->cq.read_byte_len = read_byte_len;
  made->cq.read_opcode = read_opcode;
  made->cq.read_completion_ts = read_completion_ts;
  made->entries = current->entries.value_or(wanted->cqe);
  made->stamped_by = &device_of(context);
  return &made->cq;
}
int query_device_ex(ibv_context* context, const ibv_query_device_ex_input*, ibv_device_attr_ex* told,
                    std::size_t) {
  const auto guard = lock();
  told->orig_attr.max_qp_init_rd_atom = device_of(context).reads.asks;
  told->orig_attr.max_qp_rd_atom = device_of(context).reads.serves;
  if (!device_of(context).ahead) return 0;
  told->hca_core_clock = 1'000'000;  // kHz
  told->completion_timestamp_mask = ~0ULL;
  return 0;
}

ibv_context* open_device(ibv_device* device) {
  const auto guard = lock();
  if (current->refused(Call::open_device)) return nullptr;
  auto* made = make<Context>();
  made->device = reinterpret_cast<Device*>(device);
  made->verbs.sz = sizeof(verbs_context);
  made->verbs.query_port = query_port;
  made->verbs.query_device_ex = query_device_ex;
  made->verbs.create_cq_ex = create_cq_ex;
  ibv_context& context = made->verbs.context;
  context.device = device;
  context.abi_compat = __VERBS_ABI_IS_EXTENDED;
  context.ops.poll_cq = poll_cq;
  context.ops.req_notify_cq = req_notify_cq;
  context.ops.post_send = post_send;
  context.ops.post_recv = post_recv;
  return &context;
}
int close_device(ibv_context* context) {
  const auto guard = lock();
  return give_back(
      reinterpret_cast<Context*>(reinterpret_cast<std::byte*>(context) - offsetof(verbs_context, context)));
}

long query_gid_table(ibv_context* context, ibv_gid_entry* entries, std::size_t most, std::uint32_t,
                     std::size_t) {
  const auto guard = lock();
  if (most == 0 || !device_of(context).has_gid) return 0;
  entries[0] = {};
  entries[0].port_num = 1;
  entries[0].gid_type = IBV_GID_TYPE_ROCE_V2;
  std::memcpy(entries[0].gid.raw, device_of(context).gid.data(), sizeof(Gid));
  return 1;
}

ibv_pd* alloc_pd(ibv_context* context) {
  const auto guard = lock();
  if (current->refused(Call::alloc_pd)) return nullptr;
  auto* made = make<ibv_pd>();
  made->context = context;
  return made;
}
int dealloc_pd(ibv_pd* pd) {
  const auto guard = lock();
  return give_back(pd);
}

ibv_mr* reg_mr(ibv_pd* pd, void* address, std::size_t length, int) {
  const auto guard = lock();
  if (current->refused(Call::reg_mr)) return nullptr;
  auto* made = make<ibv_mr>();
  made->context = pd->context;
  made->addr = address;
  made->length = length;
  made->lkey = made->rkey = current->next++;
  current->memory[made->rkey] = made;
  return made;
}
int dereg_mr(ibv_mr* mr) {
  const auto guard = lock();
  current->memory.erase(mr->rkey);
  return give_back(mr);
}

ibv_comp_channel* create_comp_channel(ibv_context* context) {
  const auto guard = lock();
  if (current->refused(Call::create_comp_channel)) return nullptr;
  auto* made = make<ibv_comp_channel>();
  made->context = context;
  made->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  return made;
}
int destroy_comp_channel(ibv_comp_channel* channel) {
  const auto guard = lock();
  close(channel->fd);
  return give_back(channel);
}

ibv_cq* create_cq(ibv_context* context, int entries, void* user, ibv_comp_channel* channel, int) {
  const auto guard = lock();
  if (current->refused(Call::create_cq)) return nullptr;
  auto* made = make<Queue>();
  made->cq.context = context;
  made->cq.cq_context = user;
  made->cq.channel = channel;
  made->entries = current->entries.value_or(static_cast<std::size_t>(entries));
  return ibv_cq_ex_to_cq(&made->cq);
}
int destroy_cq(ibv_cq* cq) {
  const auto guard = lock();
  return give_back(reinterpret_cast<Queue*>(cq));
}
int get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** user) {
  std::uint64_t count = 0;
  *cq = nullptr;
  *user = nullptr;
  return read(channel->fd, &count, sizeof count) == sizeof count ? 0 : -1;
}
void ack_cq_events(ibv_cq*, unsigned) {}

ibv_qp* create_qp(ibv_pd* pd, ibv_qp_init_attr* wanted) {
  const auto guard = lock();
  if (current->refused(Call::create_qp)) return nullptr;
  auto* made = make<Pair>();
  made->qp.context = pd->context;
  made->qp.pd = pd;
  made->qp.send_cq = wanted->send_cq;
  made->qp.recv_cq = wanted->recv_cq;
  made->qp.qp_type = wanted->qp_type;
  made->qp.qp_num = current->next++;
  made->cap = wanted->cap;
  made->device = &device_of(pd->context);
  current->pairs[made->qp.qp_num] = made;
  return &made->qp;
}
int modify_qp(ibv_qp* qp, ibv_qp_attr* attributes, int mask) {
  const auto guard = lock();
  if (const int error = current->refused(Call::modify_qp)) return error;
  auto& pair = *reinterpret_cast<Pair*>(qp);
  if ((mask & IBV_QP_STATE) != 0) pair.state = attributes->qp_state;
  if ((mask & IBV_QP_DEST_QPN) != 0) pair.to = attributes->dest_qp_num;
  if ((mask & IBV_QP_AV) != 0) pair.route = attributes->ah_attr;
  if ((mask & IBV_QP_MAX_QP_RD_ATOMIC) != 0) pair.device->reads_given.asks = attributes->max_rd_atomic;
  if ((mask & IBV_QP_MAX_DEST_RD_ATOMIC) != 0)
    pair.device->reads_given.serves = attributes->max_dest_rd_atomic;
  return 0;
}
int query_qp(ibv_qp* qp, ibv_qp_attr* attributes, int, ibv_qp_init_attr*) {
  const auto guard = lock();
  const auto& pair = *reinterpret_cast<Pair*>(qp);
  attributes->qp_state = pair.state;
  attributes->ah_attr = pair.route;
  return 0;
}
int destroy_qp(ibv_qp* qp) {
  const auto guard = lock();
  current->pairs.erase(qp->qp_num);
  return give_back(reinterpret_cast<Pair*>(qp));
}

}  // namespace

FakeVerbs::FakeVerbs(std::vector<IpAddress> addresses) : state_(std::make_unique<State>()) {
  WEFT_CHECK(current == nullptr);
  for (const IpAddress& address : addresses) {
    auto device = std::make_unique<Device>();
    device->name = fmt::format("fake{}", state_->devices.size());
    device->gid = gid_of(address);
    state_->list.push_back(&device->device);
    state_->devices.push_back(std::move(device));
  }
  current = state_.get();
}

FakeVerbs::~FakeVerbs() { current = nullptr; }

void FakeVerbs::forget_gid(std::size_t device) {
  const auto guard = lock();
  state_->devices[device]->has_gid = false;
}

void FakeVerbs::stamp(std::size_t device, std::chrono::nanoseconds ahead) {
  const auto guard = lock();
  state_->devices[device]->ahead = ahead;
}

void FakeVerbs::limit_reads(std::size_t device, const ReadLimits& limits) {
  const auto guard = lock();
  state_->devices[device]->reads = limits;
}

ReadLimits FakeVerbs::reads_given(std::size_t device) const {
  const auto guard = lock();
  return state_->devices[device]->reads_given;
}

std::vector<FakeVerbs::Marks> FakeVerbs::marks() const {
  const auto guard = lock();
  std::vector<Marks> all;
  for (const auto& [number, pair] : state_->pairs)
    all.push_back({pair->route.grh.flow_label, pair->route.grh.traffic_class, pair->route.sl});
  return all;
}

std::shared_ptr<const VerbsLibrary> FakeVerbs::library() const {
  auto made = std::make_shared<VerbsLibrary>();
  made->get_device_list = get_device_list;
  made->free_device_list = free_device_list;
  made->get_device_name = get_device_name;
  made->open_device = open_device;
  made->close_device = close_device;
  made->query_gid_table = query_gid_table;
  made->alloc_pd = alloc_pd;
  made->dealloc_pd = dealloc_pd;
  made->reg_mr = reg_mr;
  made->dereg_mr = dereg_mr;
  made->create_comp_channel = create_comp_channel;
  made->destroy_comp_channel = destroy_comp_channel;
  made->create_cq = create_cq;
  made->destroy_cq = destroy_cq;
  made->get_cq_event = get_cq_event;
  made->ack_cq_events = ack_cq_events;
  made->create_qp = create_qp;
  made->modify_qp = modify_qp;
  made->query_qp = query_qp;
  made->destroy_qp = destroy_qp;
  return made;
}

void FakeVerbs::cut(std::size_t device, std::size_t after) {
  const std::lock_guard guard(state_->mutex);
  state_->devices.at(device)->passes = after;
}
void FakeVerbs::refuse(Call call, int error, std::size_t after) {
  const std::lock_guard guard(state_->mutex);
  state_->refusals.push_back({call, error, after});
}
void FakeVerbs::shrink_queues(std::size_t entries) {
  const std::lock_guard guard(state_->mutex);
  state_->entries = entries;
}
std::size_t FakeVerbs::held() const {
  const std::lock_guard guard(state_->mutex);
  return state_->held;
}
std::size_t FakeVerbs::messages() const {
  const std::lock_guard guard(state_->mutex);
  return state_->messages;
}
std::size_t FakeVerbs::copied() const {
  const std::lock_guard guard(state_->mutex);
  return state_->copied;
}
std::size_t FakeVerbs::doorbells() const {
  const std::lock_guard guard(state_->mutex);
  return state_->doorbells;
}

}  // namespace weft::testing
