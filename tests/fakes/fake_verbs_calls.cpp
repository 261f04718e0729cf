#include <sys/eventfd.h>

#include <algorithm>

#include "tests/fakes/fake_verbs_state.hpp"

namespace weft::fakes {

FakeVerbsState* current = nullptr;

namespace {

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

bool is_by(ibv_device* device, rdma::RdmaDriver driver) {
  return reinterpret_cast<Device*>(device)->driver == driver;
}

int query_port(ibv_context* context, std::uint8_t, ibv_port_attr* port, std::size_t) {
  const auto guard = lock();
  port->state = device_of(context).is_up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
  port->active_mtu = static_cast<ibv_mtu>(kMtu);
  const auto& lids = device_of(context).lids;
  port->link_layer = lids ? IBV_LINK_LAYER_INFINIBAND : IBV_LINK_LAYER_ETHERNET;
  if (lids) {
    port->lid = lids->base.value();
    port->lmc = lids->lmc;
  }
  return 0;
}

int poll_cq(ibv_cq* cq, int most, ibv_wc* into) {
  const auto guard = lock();
  auto& queue = *reinterpret_cast<Queue*>(cq);
  if (queue.overran) return -1;
  int count = 0;
  for (; count < std::min(most, current->most_a_look) && !queue.done.empty(); ++count) {
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
  entries[0].gid_type = device_of(context).lids ? IBV_GID_TYPE_IB : IBV_GID_TYPE_ROCE_V2;
  std::memcpy(entries[0].gid.raw, device_of(context).gid.data(), sizeof(rdma::Gid));
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
int asks_to_drain(const Pair& pair) {
  const bool idle = reinterpret_cast<const Queue*>(pair.qp.send_cq)->done.empty();
  return idle ? pair.device->asks_to_drain : std::numeric_limits<int>::max();
}
int modify_qp(ibv_qp* qp, ibv_qp_attr* attributes, int mask) {
  const auto guard = lock();
  if (const int error = current->refused(Call::modify_qp)) return error;
  auto& pair = *reinterpret_cast<Pair*>(qp);
  if (pair.draining > 0) return EINVAL;
  if ((mask & IBV_QP_STATE) != 0) pair.state = attributes->qp_state;
  if ((mask & IBV_QP_STATE) != 0 && pair.state == IBV_QPS_SQD) pair.draining = asks_to_drain(pair);
  if ((mask & IBV_QP_DEST_QPN) != 0) pair.to = attributes->dest_qp_num;
  if ((mask & IBV_QP_AV) != 0) pair.route = attributes->ah_attr;
  if ((mask & IBV_QP_MAX_QP_RD_ATOMIC) != 0) pair.device->reads_given.asks = attributes->max_rd_atomic;
  if ((mask & IBV_QP_MAX_DEST_RD_ATOMIC) != 0)
    pair.device->reads_given.serves = attributes->max_dest_rd_atomic;
  if ((mask & IBV_QP_QKEY) != 0) pair.queue_key = attributes->qkey;
  return 0;
}
int query_qp(ibv_qp* qp, ibv_qp_attr* attributes, int, ibv_qp_init_attr*) {
  const auto guard = lock();
  auto& pair = *reinterpret_cast<Pair*>(qp);
  attributes->qp_state = pair.state;
  attributes->sq_draining = pair.draining > 0 && pair.draining-- > 0 ? 1 : 0;
  attributes->ah_attr = pair.route;
  return 0;
}
ibv_ah* create_ah(ibv_pd* pd, ibv_ah_attr* attributes) {
  const auto guard = lock();
  if (current->refused(Call::create_ah)) return nullptr;
  auto* made = make<Handle>();
  made->ah.context = pd->context;
  made->route = *attributes;
  current->handles.insert(made);
  return &made->ah;
}
int destroy_ah(ibv_ah* ah) {
  const auto guard = lock();
  current->handles.erase(reinterpret_cast<Handle*>(ah));
  return give_back(reinterpret_cast<Handle*>(ah));
}
int destroy_qp(ibv_qp* qp) {
  const auto guard = lock();
  current->pairs.erase(qp->qp_num);
  return give_back(reinterpret_cast<Pair*>(qp));
}

int modify_qp_udp_sport(ibv_qp* qp, std::uint16_t port) {
  const auto guard = lock();
  if (!is_by(qp->context->device, rdma::RdmaDriver::mlx5)) return EOPNOTSUPP;
  reinterpret_cast<Pair*>(qp)->route.grh.flow_label = port & 0x3FFFU;
  return 0;
}

}  // namespace

void give_calls(rdma::VerbsLibrary& into) {
  into.get_device_list = get_device_list;
  into.free_device_list = free_device_list;
  into.get_device_name = get_device_name;
  into.open_device = open_device;
  into.close_device = close_device;
  into.query_gid_table = query_gid_table;
  into.alloc_pd = alloc_pd;
  into.dealloc_pd = dealloc_pd;
  into.reg_mr = reg_mr;
  into.dereg_mr = dereg_mr;
  into.create_comp_channel = create_comp_channel;
  into.destroy_comp_channel = destroy_comp_channel;
  into.create_cq = create_cq;
  into.destroy_cq = destroy_cq;
  into.get_cq_event = get_cq_event;
  into.ack_cq_events = ack_cq_events;
  into.create_qp = create_qp;
  into.modify_qp = modify_qp;
  into.query_qp = query_qp;
  into.destroy_qp = destroy_qp;
  into.create_ah = create_ah;
  into.destroy_ah = destroy_ah;
  into.is_soft_roce = [](ibv_device* device) { return is_by(device, rdma::RdmaDriver::soft_roce); };
  into.is_mlx5 = [](ibv_device* device) { return is_by(device, rdma::RdmaDriver::mlx5); };
  into.modify_qp_udp_sport = modify_qp_udp_sport;
}

}  // namespace weft::fakes
