#include "probes/engine/verbs/verbs_responder.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "probes/datapath/probe_engine.hpp"
#include "topology/os/clocks.hpp"

namespace weft::verbs {
namespace {

constexpr int kQueueEntries = 16'384;
constexpr Nanoseconds kIdle = std::chrono::milliseconds(50);  // then it looks whether it is to stop
/// After something came it looks on without sleeping for so long: waking up would count as the network's
/// delay.
constexpr Nanoseconds kAlert = std::chrono::microseconds(200);

/// What flows of others may take of the host's memory, locked: an eighth, for a host has up to eight NICs.
std::uint64_t memory_to_spare() {
  constexpr std::uint64_t kMinLocked = 64 << 20;
  const auto all =
      static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return std::max(kMinLocked, all / 8);
}

}  // namespace

Result<std::unique_ptr<VerbsResponder>> VerbsResponder::start(std::shared_ptr<const rdma::VerbsDevice> device,
                                                              VerbsMemory memory,
                                                              rdma::VerbsTraffic traffic) {
  WEFT_TRY(auto queue, rdma::CompletionQueue::make(device, kQueueEntries));
  return std::unique_ptr<VerbsResponder>(
      new VerbsResponder(std::move(device), std::move(memory), traffic, std::move(queue)));
}

VerbsResponder::VerbsResponder(std::shared_ptr<const rdma::VerbsDevice> device, VerbsMemory memory,
                               rdma::VerbsTraffic traffic, std::unique_ptr<rdma::CompletionQueue> queue)
    : device_(std::move(device)),
      memory_(std::move(memory)),
      traffic_(traffic),
      queue_(std::move(queue)),
      thread_([this](const std::stop_token& stop) { serve(stop); }) {}

VerbsResponder::~VerbsResponder() {
  thread_.request_stop();
  thread_.join();
  serving_.clear();
  groups_.clear();  // before the completion queue that they use
}

Result<QpsConnected> VerbsResponder::connect(PortId from, const ConnectQps& offer) {
  const std::lock_guard lock(mutex_);
  if (broken_) return tl::unexpected(*broken_);
  WEFT_TRY_VOID(make_room(from, offer));
  WEFT_TRY(auto group, ServedGroup::make(device_, *queue_, memory_, traffic_, from, offer, ++last_serial_,
                                         [&](std::uint32_t spec) -> datapath::ReceivedTally& {
                                           return receipts_.row(offer.batch, from, spec);
                                         }));
  QpsConnected answer = group->answer();
  answer.from = device_->address();
  answer.stamps = queue_->stamps();
  answer.reads = device_->reads();
  for (const QpNum qp : group->numbers()) serving_[qp] = group.get();
  under_way_ += ServedGroup::completions(offer);
  memory_in_use_ += ServedGroup::memory(offer);
  busy_groups_ += offer.busy_poll ? 1 : 0;
  groups_.push_back(std::move(group));
  return answer;
}

Result<void> VerbsResponder::make_room(PortId from, const ConnectQps& offer) {
  if (const auto sensible = ServedGroup::check(offer); !sensible) return sensible;
  drop([&](const ServedGroup& group) { return group.from() == from && group.offer().batch != offer.batch; });
  receipts_.make_room(from, offer.batch);
  std::size_t queue_pairs = offer.qps.size();
  for (const auto& group : groups_) queue_pairs += group->from() == from ? group->offer().qps.size() : 0;
  if (queue_pairs > kMaxGroupQps)
    return fail(ErrorKind::conflict, "{}: {} queue pairs of one request, at most {}", device_->name(),
                queue_pairs, kMaxGroupQps);
  const std::size_t under_way = under_way_ + ServedGroup::completions(offer);
  if (under_way > kQueueEntries)
    return fail(ErrorKind::conflict,
                "{}: the completion queue would overrun: {} messages under way, at most {}", device_->name(),
                under_way, kQueueEntries);
  const std::uint64_t memory = memory_in_use_ + ServedGroup::memory(offer);
  if (const std::uint64_t most = memory_to_spare(); memory > most)
    return fail(ErrorKind::conflict, "{}: {} MiB of memory for the flows of others, at most {}",
                device_->name(), memory >> 20U, most >> 20U);
  return {};
}

std::vector<std::uint32_t> VerbsResponder::close(PortId from, const CloseQps& done) {
  const std::lock_guard lock(mutex_);
  std::vector<std::uint32_t> differing;
  for (const auto& group : groups_) {
    const ConnectQps& offer = group->offer();
    if (group->from() != from || offer.batch != done.batch || offer.kind != rdma::QpKind::reliable) continue;
    if (offer.operation == FlowOperation::read) break;  // what it moved came to the one who asks
    for (std::size_t i = 0; i < std::min(done.moved.size(), offer.qps.size()); ++i) {
      const FlowMoved& flow = done.moved[i];  // in the order of the offer
      if (flow.spec != offer.qps[i].spec || !datapath::fit(flow.bytes, flow.packets)) continue;  // cannot be
      if (group->differs(i, flow)) differing.push_back(flow.spec);
      datapath::ReceivedTally& tally = receipts_.row(done.batch, from, flow.spec);
      tally.packets = flow.packets;
      tally.bytes = flow.bytes;
      tally.last = flow.elapsed;
    }
    break;
  }
  drop([&](const ServedGroup& group) { return group.from() == from && group.offer().batch == done.batch; });
  return differing;
}

void VerbsResponder::note(const datapath::ReceivedTally& tally) {
  const std::lock_guard lock(mutex_);
  receipts_.row(tally.batch, tally.from, tally.spec) = tally;
}

template <class Which>
void VerbsResponder::drop(Which which) {
  std::erase_if(groups_, [&](const std::unique_ptr<ServedGroup>& group) {
    const ConnectQps& offer = group->offer();
    if (!which(*group)) return false;
    for (const QpNum qp : group->numbers()) serving_.erase(qp);
    under_way_ -= ServedGroup::completions(offer);
    memory_in_use_ -= ServedGroup::memory(offer);
    busy_groups_ -= offer.busy_poll ? 1 : 0;
    return true;
  });
}

Result<std::vector<datapath::ReceivedTally>> VerbsResponder::received(BatchId batch) const {
  const std::lock_guard lock(mutex_);
  if (broken_) return tl::unexpected(*broken_);
  return receipts_.received(batch);
}

void VerbsResponder::serve(const std::stop_token& stop) {
  const auto give_up = [this](const Error& why) {
    const std::lock_guard lock(mutex_);
    broken_ = why;
  };
  Nanoseconds alert_until{};
  Nanoseconds looked = os::steady_now();
  bool is_behind = false;  // it had not looked for a while, and has not taken all since
  while (!stop.stop_requested()) {
    // Without the lock: nobody else looks, and who connects is not to wait until a busy look is over.
    const auto done = queue_->poll(busy_groups_ > 0 ? rdma::kBusyLooks : 1);
    if (!done) return give_up(done.error());
    const Nanoseconds now = os::steady_now();
    const Nanoseconds slept = now - std::exchange(looked, now);
    is_behind = !done->empty() && (is_behind || slept >= kIdle + datapath::kLateEcho);
    if (!done->empty()) {
      const std::lock_guard lock(mutex_);
      for (const rdma::Completion& completion : *done) take(completion, is_behind);
    }
    if (busy_groups_ > 0)
      continue;
    else if (!done->empty())
      alert_until = os::steady_now() + kAlert;
    else if (os::steady_now() < alert_until)
      std::this_thread::yield();
    else if (const auto waited = queue_->wait(kIdle); !waited)
      return give_up(waited.error());
  }
}

void VerbsResponder::take(const rdma::Completion& completion, bool waited) {
  if (const auto found = serving_.find(completion.qp); found != serving_.end())
    found->second->take(completion, waited);
}

}  // namespace weft::verbs
