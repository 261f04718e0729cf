// What the fake devices hold, and how messages get from one to the other; shared by FakeVerbs and the
// functions of libibverbs that stand over it.
#pragma once

#include <fmt/format.h>
#include <infiniband/verbs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <deque>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "tests/fakes/fake_verbs.hpp"

namespace weft::fakes {

inline constexpr int kUnreachable = IBV_WC_RETRY_EXC_ERR;  // 12
inline constexpr int kMtu = IBV_MTU_4096;
inline constexpr std::uint32_t kGrh = 40;

struct Device {
  ibv_device device{};
  std::string name;
  rdma::Gid gid{};
  bool has_gid = true;
  bool is_up = true;
  rdma::RdmaDriver driver = rdma::RdmaDriver::other;
  std::optional<LidRange> lids;  // of an InfiniBand port
  struct Loss {
    std::size_t one_in = 0;
    std::size_t sent = 0;
  };
  std::map<std::uint16_t, Loss> losses;  // by the LID it sends to
  bool loses(std::uint16_t lid) {
    const auto found = losses.find(lid);
    return found != losses.end() && ++found->second.sent % found->second.one_in == 0;
  }
  struct End {
    int status;
    std::size_t after;
  };
  std::optional<End> ends;  // one message
  /// The status that a message ends with before it is sent; 0: it is sent.
  int ended() {
    if (!ends || ends->after-- > 0) return IBV_WC_SUCCESS;
    return std::exchange(ends, std::nullopt)->status;
  }
  std::optional<std::chrono::nanoseconds> ahead;  // of the clock by which it stamps
  std::optional<std::size_t> passes;              // messages until it is cut off
  rdma::ReadLimits reads{16, 16};
  rdma::ReadLimits reads_given;
  int asks_to_drain = 0;
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

struct Handle {
  ibv_ah ah{};
  ibv_ah_attr route{};
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
  std::uint32_t queue_key = 0;
  ibv_qp_state state = IBV_QPS_RESET;
  int draining = 0;  // asks until it has drained
  std::deque<ibv_recv_wr> receives;
  std::deque<ibv_sge> receive_pieces;  // of the same places
  std::deque<Work> waiting;            // for a receive at the far end
};

struct FakeVerbsState {
  mutable std::mutex mutex;
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<ibv_device*> list;
  std::map<std::uint32_t, Pair*> pairs;     // by number
  std::map<std::uint32_t, ibv_mr*> memory;  // by key
  std::set<Handle*> handles;
  std::uint32_t next = 17;
  std::size_t held = 0;
  std::size_t messages = 0;
  std::size_t doorbells = 0;
  std::size_t copied = 0;
  std::optional<std::size_t> entries;
  int most_a_look = std::numeric_limits<int>::max();
  struct Refusal {
    FakeVerbs::Call call;
    int error;
    std::size_t after;
  };
  std::vector<Refusal> refusals;
  bool watches = false;  // for the next message
  FakeVerbs::Seen seen;

  std::vector<FakeVerbs::Marks> marks() const {
    std::vector<FakeVerbs::Marks> all;
    const auto add = [&](const ibv_ah_attr& route) {
      all.push_back(
          {route.grh.flow_label, route.grh.traffic_class, route.sl, route.dlid, route.src_path_bits});
    };
    for (const auto& [number, pair] : pairs)
      if (pair->qp.qp_type != IBV_QPT_UD) add(pair->route);
    for (const Handle* handle : handles) add(handle->route);
    return all;
  }
  void count_message() {
    ++messages;
    if (std::exchange(watches, false)) seen = {marks(), pairs.size()};
  }

  /// The error number of a call that is to fail now.
  int refused(FakeVerbs::Call call) {
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
    if (const int status = from.device->ended()) return finish(from, work.request, status), true;
    const bool reliable = from.qp.qp_type == IBV_QPT_RC;
    const bool datagram = from.qp.qp_type == IBV_QPT_UD;
    const auto found = pairs.find(datagram ? work.request.wr.ud.remote_qpn : from.to);
    Pair* to = found == pairs.end() || found->second->state < IBV_QPS_RTR ? nullptr : found->second;
    if (to != nullptr && datagram && to->queue_key != work.request.wr.ud.remote_qkey) to = nullptr;
    if (to == nullptr || !passes(*from.device) || !passes(*to->device))
      return finish(from, work.request, reliable ? kUnreachable : int{IBV_WC_SUCCESS}), true;
    if (work.request.opcode != IBV_WR_SEND) return finish(from, work.request, reach(work)), true;
    const auto* handle = datagram ? reinterpret_cast<const Handle*>(work.request.wr.ud.ah) : nullptr;
    if (!reliable && from.device->loses(handle != nullptr ? handle->route.dlid : from.route.dlid))
      return finish(from, work.request, IBV_WC_SUCCESS), true;
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
    count_message();
    return IBV_WC_SUCCESS;
  }

  void receive(Pair& to, const ibv_sge& piece) {
    const ibv_sge into = to.receive_pieces.front();
    const std::uint32_t headroom = to.qp.qp_type == IBV_QPT_UD ? kGrh : 0;
    const std::uint32_t whole = headroom + piece.length;
    ibv_wc wc{};
    wc.wr_id = to.receives.front().wr_id;
    wc.qp_num = to.qp.qp_num;
    wc.opcode = IBV_WC_RECV;
    wc.byte_len = whole;
    wc.status = whole <= into.length ? IBV_WC_SUCCESS : IBV_WC_LOC_LEN_ERR;
    if (wc.status == IBV_WC_SUCCESS)
      std::memcpy(reinterpret_cast<void*>(into.addr + headroom), reinterpret_cast<const void*>(piece.addr),
                  piece.length);
    to.receives.pop_front();
    to.receive_pieces.pop_front();
    count_message();
    complete(to.qp.recv_cq, wc);
  }

  void carry_waiting(Pair& from) {
    while (!from.waiting.empty() && carry(from, from.waiting.front())) from.waiting.pop_front();
  }
};

/// Of the one FakeVerbs that there is.
extern FakeVerbsState* current;
/// The functions of libibverbs over it.
void give_calls(rdma::VerbsLibrary& into);

}  // namespace weft::fakes
