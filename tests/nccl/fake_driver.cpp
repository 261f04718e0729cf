// libibverbs and a device for who opens it by dlopen, without any RDMA: one process, queue pairs that
// complete what is posted after FAKE_DELAY_US microseconds, and note by which flow label it went. As
// soft-RoCE 6.1 does it, a queue pair that drains with work under way loses its completions. FAKE_STALL names
// queue pairs (by their number, from 1) that complete nothing, or nothing in their first FAKE_STALL_MS;
// FAKE_REFUSE_LABEL a flow label that the device refuses; FAKE_REFUSE_RTS=1: it stays drained. Posts without
// a completion take FAKE_SLOW_UNSIGNALED_US more, draining takes FAKE_DRAIN_MS; FAKE_FAIL_IN_DRAIN=1: who
// drains is in error at once. FAKE_MLX5 is the library of its provider. A call on a queue pair that is
// destroyed ends the process.
#include <dlfcn.h>
#include <infiniband/verbs.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "tests/nccl/fake_driver.hpp"

namespace {

using Clock = std::chrono::steady_clock;
constexpr int kDevices = 2;

std::mutex mutex;

long number_of(const char* name, long usual) {
  const char* text = std::getenv(name);
  return text == nullptr ? usual : std::strtol(text, nullptr, 10);
}

struct Message {
  std::uint64_t work;
  std::uint64_t payload;
  std::uint32_t label;
  bool signaled;
  Clock::time_point done;
};

struct FakeQp {
  ibv_qp qp{};
  ibv_qp_attr attributes{};
  ibv_qp_init_attr made_with{};
  std::deque<Message> under_way;
  FakeTally tally{};
  bool stalls = false;
  Clock::time_point starts;  // to complete
  Clock::time_point drained;
};
std::set<const ibv_qp*> living;

struct FakeCq {
  ibv_cq cq{};
  std::vector<FakeQp*> qps;
};

FakeQp* of(ibv_qp* qp) {
  if (!living.contains(qp)) std::abort();
  return reinterpret_cast<FakeQp*>(qp);
}
FakeCq* of(ibv_cq* cq) { return reinterpret_cast<FakeCq*>(cq); }

std::uint64_t first_bytes(const ibv_send_wr& post) {
  std::uint64_t value = 0;
  if (post.num_sge > 0)
    std::memcpy(&value, reinterpret_cast<const void*>(post.sg_list[0].addr),
                std::min<std::size_t>(sizeof value, post.sg_list[0].length));
  return value;
}

int post_send(ibv_qp* qp, ibv_send_wr* chain, ibv_send_wr** bad) {
  const std::scoped_lock lock(mutex);
  FakeQp& fake = *of(qp);
  static const std::chrono::microseconds kDelay(number_of("FAKE_DELAY_US", 200));
  for (ibv_send_wr* post = chain; post != nullptr; post = post->next) {
    *bad = post;
    if (fake.attributes.qp_state < IBV_QPS_RTS) return EINVAL;
    if (fake.under_way.size() >= fake.made_with.cap.max_send_wr) return ENOMEM;
    if (kDelay.count() < 0) continue;  // a device that does nothing
    ++fake.tally.posted;
    static const std::chrono::microseconds kSlow(number_of("FAKE_SLOW_UNSIGNALED_US", 0));
    const bool signaled = (post->send_flags & IBV_SEND_SIGNALED) != 0 || fake.made_with.sq_sig_all != 0;
    fake.under_way.push_back({post->wr_id, first_bytes(*post), fake.attributes.ah_attr.grh.flow_label,
                              signaled, Clock::now() + kDelay + (signaled ? kSlow * 0 : kSlow)});
  }
  return 0;
}

void note(FakeQp& fake, const Message& message) {
  FakeTally& tally = fake.tally;
  if (message.work != tally.messages || message.payload != message.work) ++tally.wrong;
  ++tally.messages;
  if (tally.count < FakeTally::kMaxLabels &&
      (tally.count == 0 || tally.labels[tally.count - 1] != message.label))
    tally.labels[tally.count++] = message.label;
}

int poll_cq(ibv_cq* cq, int most, ibv_wc* completions) {
  const std::scoped_lock lock(mutex);
  int count = 0;
  for (FakeQp* fake : of(cq)->qps) {
    const bool failed = fake->attributes.qp_state == IBV_QPS_ERR;
    const bool sends =
        fake->attributes.qp_state == IBV_QPS_RTS && !fake->stalls && Clock::now() >= fake->starts;
    while ((failed || sends) && count < most && !fake->under_way.empty() &&
           (failed || fake->under_way.front().done <= Clock::now())) {
      const Message message = fake->under_way.front();
      fake->under_way.pop_front();
      if (!failed) note(*fake, message);
      if (!failed && !message.signaled) continue;
      completions[count] = {};
      completions[count].wr_id = message.work;
      completions[count].qp_num = fake->qp.qp_num;
      completions[count].status = failed ? IBV_WC_WR_FLUSH_ERR : IBV_WC_SUCCESS;
      completions[count++].opcode = IBV_WC_RDMA_WRITE;
    }
  }
  return count;
}

/// FAKE_LINK=infiniband; else Ethernet.
int query_port(ibv_context*, std::uint8_t, ibv_port_attr* about, std::size_t) {
  const char* link = std::getenv("FAKE_LINK");
  const bool is_infiniband = link != nullptr && std::string(link) == "infiniband";
  about->link_layer = is_infiniband ? IBV_LINK_LAYER_INFINIBAND : IBV_LINK_LAYER_ETHERNET;
  return 0;
}

struct FakeContext {
  verbs_context verbs{};
  ibv_device device{};
};
FakeContext contexts[kDevices];

}  // namespace

extern "C" {

#undef ibv_query_port
#undef ibv_reg_mr

ibv_device** ibv_get_device_list(int* count) {
  // As libibverbs does, which loads the providers here.
  if (const char* provider = std::getenv("FAKE_MLX5"); provider != nullptr) dlopen(provider, RTLD_NOW);
  auto** list = static_cast<ibv_device**>(std::calloc(kDevices + 1, sizeof(ibv_device*)));
  for (int i = 0; i < kDevices; ++i) {
    std::snprintf(contexts[i].device.name, sizeof contexts[i].device.name, "fake%d", i);
    list[i] = &contexts[i].device;
  }
  if (count != nullptr) *count = kDevices;
  return list;
}
void ibv_free_device_list(ibv_device** list) { std::free(list); }
const char* ibv_get_device_name(ibv_device* device) { return device->name; }

ibv_context* ibv_open_device(ibv_device* device) {
  for (FakeContext& fake : contexts)
    if (&fake.device == device) {
      fake.verbs.sz = sizeof fake.verbs;
      fake.verbs.query_port = query_port;
      ibv_context& context = fake.verbs.context;
      context.abi_compat = __VERBS_ABI_IS_EXTENDED;
      context.device = device;
      context.ops.post_send = post_send;
      context.ops.poll_cq = poll_cq;
      return &context;
    }
  return nullptr;
}
int ibv_close_device(ibv_context*) { return 0; }
ibv_pd* ibv_alloc_pd(ibv_context* context) { return new ibv_pd{context, 0}; }

int ibv_query_gid(ibv_context* context, uint8_t, int, ibv_gid* gid) {
  *gid = {};
  gid->raw[10] = gid->raw[11] = 0xFF;
  gid->raw[12] = 10;
  const bool is_first = context->device == &contexts[0].device;
  gid->raw[15] = is_first ? 1 : 2;
  return 0;
}

ibv_cq* ibv_create_cq(ibv_context* context, int, void*, ibv_comp_channel*, int) {
  auto* made = new FakeCq;
  made->cq.context = context;
  return &made->cq;
}

ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* wanted) {
  static std::uint32_t last = 0;
  const std::scoped_lock lock(mutex);
  auto* made = new FakeQp;
  made->made_with = *wanted;
  made->qp.context = pd->context;
  made->qp.qp_type = wanted->qp_type;
  made->qp.send_cq = wanted->send_cq;
  made->qp.qp_num = ++last;
  living.insert(&made->qp);
  const bool stalls = (',' + std::string(std::getenv("FAKE_STALL") ? std::getenv("FAKE_STALL") : "") + ',')
                          .find(',' + std::to_string(last) + ',') != std::string::npos;
  const long stall_ms = number_of("FAKE_STALL_MS", 0);
  made->stalls = stalls && stall_ms == 0;
  if (stalls) made->starts = Clock::now() + std::chrono::milliseconds(stall_ms);
  of(wanted->send_cq)->qps.push_back(made);
  return &made->qp;
}

int ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* wanted, int mask) {
  const std::scoped_lock lock(mutex);
  FakeQp& fake = *of(qp);
  const auto label = wanted->ah_attr.grh.flow_label;
  if ((mask & IBV_QP_AV) != 0 && static_cast<long>(label) == number_of("FAKE_REFUSE_LABEL", -1))
    return EINVAL;
  const bool is_drained = fake.attributes.qp_state == IBV_QPS_SQD;
  const bool leaves_error = (mask & IBV_QP_STATE) != 0 && wanted->qp_state == IBV_QPS_RESET;
  if (fake.attributes.qp_state == IBV_QPS_ERR && !leaves_error) return EINVAL;
  if ((mask & IBV_QP_AV) != 0 && is_drained && Clock::now() < fake.drained) return EINVAL;
  if (is_drained && wanted->qp_state == IBV_QPS_RTS && number_of("FAKE_REFUSE_RTS", 0) != 0) return EINVAL;
  if ((mask & IBV_QP_AV) != 0) fake.attributes.ah_attr = wanted->ah_attr;
  if ((mask & IBV_QP_TIMEOUT) != 0) fake.attributes.timeout = wanted->timeout;
  if ((mask & IBV_QP_RETRY_CNT) != 0) fake.attributes.retry_cnt = wanted->retry_cnt;
  if ((mask & IBV_QP_STATE) == 0) return 0;
  fake.attributes.qp_state = wanted->qp_state;
  if (wanted->qp_state == IBV_QPS_SQD) {
    fake.stalls = fake.stalls || !fake.under_way.empty();
    fake.drained = Clock::now() + std::chrono::milliseconds(number_of("FAKE_DRAIN_MS", 0));
    ++fake.tally.drains;
    if (number_of("FAKE_FAIL_IN_DRAIN", 0) != 0) fake.attributes.qp_state = IBV_QPS_ERR;
  }
  if (wanted->qp_state == IBV_QPS_RTR) fake.tally.first_label = label;
  return 0;
}

int ibv_query_qp(ibv_qp* qp, ibv_qp_attr* now, int, ibv_qp_init_attr* made_with) {
  const std::scoped_lock lock(mutex);
  *now = of(qp)->attributes;
  now->sq_draining = now->qp_state == IBV_QPS_SQD && Clock::now() < of(qp)->drained ? 1 : 0;
  *made_with = of(qp)->made_with;
  return 0;
}

int ibv_destroy_qp(ibv_qp* qp) {
  const std::scoped_lock lock(mutex);
  FakeQp* const gone = of(qp);
  std::erase(of(qp->send_cq)->qps, gone);
  living.erase(qp);
  delete gone;
  return 0;
}

struct ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp*) {
  return nullptr;
}

int fake_modify_port(ibv_qp* qp, uint16_t port) {
  const std::scoped_lock lock(mutex);
  of(qp)->attributes.ah_attr.grh.flow_label = port - 0xC000u;
  return 0;
}

void fake_fail(ibv_qp* qp) {
  const std::scoped_lock lock(mutex);
  of(qp)->attributes.qp_state = IBV_QPS_ERR;
}

void fake_tally(ibv_qp* qp, FakeTally* tally) {
  const std::scoped_lock lock(mutex);
  *tally = of(qp)->tally;
}
}
