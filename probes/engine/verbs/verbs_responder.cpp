#include "probes/engine/verbs/verbs_responder.hpp"

#include <algorithm>
#include <chrono>

#include "probes/wire/roce_message.hpp"

namespace weft {
namespace {

constexpr int kQueueEntries = 16'384;
constexpr std::uint64_t kAnswerBit = 1ULL << 63U;  // of a work number: our answer, not a probe that came in
constexpr std::uint32_t kDeepest = 256;
constexpr Nanoseconds kIdle = std::chrono::milliseconds(50);  // then it looks whether it is to stop
/// After something came it looks on without sleeping for so long: waking up would count as the network's
/// delay.
constexpr Nanoseconds kAlert = std::chrono::microseconds(200);

Nanoseconds now() { return std::chrono::steady_clock::now().time_since_epoch(); }

}  // namespace

struct VerbsResponder::Served {
  std::unique_ptr<QueuePair> qp;
  Group* group = nullptr;
  std::size_t first_slot = 0;  // of those it receives into; its answers' stand behind all of these
  ReceivedTally* tally = nullptr;
  std::uint64_t answering = 0;  // the probe whose answer is on its way
  Nanoseconds arrived{};
  std::uint64_t answered = 0;  // the probe before, and how long its answer took
  Nanoseconds turnaround{};
};

struct VerbsResponder::Group {
  PortId from;
  BatchId batch;
  QpKind kind = QpKind::reliable;
  FlowOperation operation = FlowOperation::write;
  bool busy_poll = false;
  std::size_t depth = 0;
  std::size_t message = 0;
  std::size_t slots_in = 0;
  std::unique_ptr<Slots> slots;
  std::size_t completions = 0;  // that may come at once
  std::vector<std::unique_ptr<Served>> served;
  bool is_probes() const { return kind == QpKind::unreliable; }
  bool receives() const { return is_probes() || operation == FlowOperation::send; }
};

Result<std::unique_ptr<VerbsResponder>> VerbsResponder::start(std::shared_ptr<const VerbsDevice> device,
                                                              VerbsMemory memory, VerbsTraffic traffic) {
  auto queue = CompletionQueue::make(device, kQueueEntries);
  if (!queue) return pass_on(queue);
  return std::unique_ptr<VerbsResponder>(
      new VerbsResponder(std::move(device), std::move(memory), traffic, std::move(*queue)));
}

VerbsResponder::VerbsResponder(std::shared_ptr<const VerbsDevice> device, VerbsMemory memory,
                               VerbsTraffic traffic, std::unique_ptr<CompletionQueue> queue)
    : device_(std::move(device)),
      memory_(std::move(memory)),
      traffic_(traffic),
      queue_(std::move(queue)),
      thread_([this](const std::stop_token& stop) { serve(stop); }) {}

VerbsResponder::~VerbsResponder() {
  thread_.request_stop();
  thread_.join();
  served_.clear();
  groups_.clear();  // before the completion queue that they use
}

Result<QpsConnected> VerbsResponder::connect(PortId from, const ConnectQps& offer) {
  if (offer.depth == 0 || offer.depth > kDeepest || offer.message.count() < std::int64_t{ProbeNote::kSize})
    return fail(ErrorKind::invalid_input, "queue pairs of depth {} for messages of {} bytes make no sense",
                offer.depth, offer.message.count());
  const std::lock_guard lock(mutex_);
  if (broken_) return tl::unexpected(*broken_);
  auto group = std::make_unique<Group>();
  *group = {.from = from,
            .batch = offer.batch,
            .kind = offer.kind,
            .operation = offer.operation,
            .busy_poll = offer.busy_poll,
            .depth = offer.depth,
            .message = static_cast<std::size_t>(offer.message.count()),
            .slots_in = offer.qps.size() * offer.depth};
  const std::size_t answers = group->is_probes() ? group->slots_in : 0;
  group->completions = group->receives() ? group->slots_in + answers : 0;
  if (under_way_ + group->completions > kQueueEntries)
    return fail(ErrorKind::conflict,
                "{}: the completion queue would overrun: {} messages under way, at most {}", device_->name(),
                under_way_ + group->completions, kQueueEntries);
  const BufferFactory& memory = group->is_probes() ? memory_.probes : memory_.flows;
  auto slots = Slots::make(device_, memory, group->slots_in + answers, offer.message);
  if (!slots) return pass_on(slots);
  group->slots = std::move(*slots);
  QpsConnected answer{.from = device_->address(),
                      .memory = reinterpret_cast<std::uintptr_t>(group->slots->region().address()),
                      .memory_key = group->slots->region().remote_key(),
                      .qps = {},
                      .stamps = queue_->stamps(),
                      .reads = device_->reads()};
  for (std::size_t i = 0; i < offer.qps.size(); ++i) {
    if (const auto added = add(*group, offer, offer.qps[i], i); !added) return pass_on(added);
    const QueuePair& qp = *group->served.back()->qp;
    answer.qps.push_back({qp.number(), qp.first_psn()});
  }
  for (const auto& served : group->served) served_[served->qp->number()] = served.get();
  under_way_ += group->completions;
  busy_groups_ += group->busy_poll ? 1 : 0;
  groups_.push_back(std::move(group));
  return answer;
}

Result<void> VerbsResponder::add(Group& group, const ConnectQps& offer, const OfferedQp& offered,
                                 std::size_t index) {
  const auto depth = static_cast<std::uint32_t>(group.depth);
  auto qp = QueuePair::make(device_, *queue_, *queue_, {group.kind, depth, depth});
  if (!qp) return pass_on(qp);
  auto served = std::make_unique<Served>();
  served->group = &group;
  served->first_slot = index * group.depth;
  if (group.is_probes()) served->tally = &new_tally({offer.batch, group.from, offered.spec});
  if (!group.is_probes() && group.operation == FlowOperation::read)
    if (const auto filled = fill(group, served->first_slot, offered.spec); !filled) return filled;
  if (group.receives())
    for (std::size_t slot = served->first_slot; slot < served->first_slot + group.depth; ++slot)
      if (const auto posted = (*qp)->post_receive(slot, group.slots->piece(slot, group.message)); !posted)
        return posted;
  const auto connected = (*qp)->connect({.to = offer.from,
                                         .qp = offered.qp,
                                         .first_psn = offered.first_psn,
                                         .label = offered.back_label,
                                         .back_label = offered.label,
                                         .traffic_class = traffic_.traffic_class,
                                         .service_level = traffic_.service_level,
                                         .mtu = offer.mtu,
                                         .reads = agree(device_->reads(), offer.reads, offer.depth)});
  if (!connected) return connected;
  served->qp = std::move(*qp);
  group.served.push_back(std::move(served));
  return {};
}

std::vector<std::uint32_t> VerbsResponder::close(PortId from, const CloseQps& done) {
  const std::lock_guard lock(mutex_);
  std::vector<std::uint32_t> differing;
  for (const auto& group : groups_) {
    if (group->from != from || group->batch != done.batch || group->kind != QpKind::reliable) continue;
    for (std::size_t i = 0; i < done.moved.size(); ++i) {
      const FlowMoved& flow = done.moved[i];
      if (i >= group->served.size()) break;
      // In the order of the offer; a flow fills its messages' places in turn.
      const BufferRange filled{i * group->depth * group->message,
                               std::min<std::uint64_t>(flow.messages, group->depth) * group->message};
      if (group->operation == FlowOperation::read) continue;  // what it moved came to the one who asks
      if (differs(*group, filled, flow.spec)) differing.push_back(flow.spec);
      ReceivedTally& tally = new_tally({done.batch, from, flow.spec, flow.packets, flow.bytes});
      tally.last = flow.elapsed;
    }
    break;
  }
  drop(from, done.batch);
  return differing;
}

ReceivedTally& VerbsResponder::new_tally(const ReceivedTally& tally) {
  return *tallies_[tally.batch].emplace_back(std::make_unique<ReceivedTally>(tally));
}

void VerbsResponder::note(const ReceivedTally& tally) {
  const std::lock_guard lock(mutex_);
  new_tally(tally);
}

/// What a flow will read.
Result<void> VerbsResponder::fill(Group& group, std::size_t first_slot, std::uint32_t spec) {
  const BufferRange place{first_slot * group.message, group.depth * group.message};
  TransferBuffer& buffer = group.slots->buffer();
  const auto filled = buffer.fill(place, kFlowPattern, flow_pattern_offset(spec, group.depth, group.message));
  return filled ? buffer.before_send(place) : filled;
}

bool VerbsResponder::differs(const Group& group, BufferRange filled, std::uint32_t spec) {
  TransferBuffer& buffer = group.slots->buffer();
  if (!buffer.after_receive(filled)) return false;  // nobody saw what came
  const auto difference =
      buffer.verify(filled, kFlowPattern, flow_pattern_offset(spec, group.depth, group.message));
  return difference && difference->bytes > 0;
}

void VerbsResponder::drop(PortId from, BatchId batch) {
  std::erase_if(groups_, [&](const std::unique_ptr<Group>& group) {
    if (group->from != from || group->batch != batch) return false;
    for (const auto& served : group->served) served_.erase(served->qp->number());
    under_way_ -= group->completions;
    busy_groups_ -= group->busy_poll ? 1 : 0;
    return true;
  });
}

Result<std::vector<ReceivedTally>> VerbsResponder::received(BatchId batch) const {
  const std::lock_guard lock(mutex_);
  if (broken_) return tl::unexpected(*broken_);
  std::vector<ReceivedTally> result;
  if (const auto found = tallies_.find(batch); found != tallies_.end())
    for (const auto& tally : found->second) result.push_back(*tally);
  return result;
}

void VerbsResponder::serve(const std::stop_token& stop) {
  const auto give_up = [this](const Error& why) {
    const std::lock_guard lock(mutex_);
    broken_ = why;
  };
  Nanoseconds alert_until{};
  while (!stop.stop_requested()) {
    // Without the lock: nobody else looks, and who connects is not to wait until a busy look is over.
    const auto done = queue_->poll(busy_groups_ > 0 ? kBusyLooks : 1);
    if (!done) return give_up(done.error());
    if (!done->empty()) {
      const std::lock_guard lock(mutex_);
      for (const Completion& completion : *done) take(completion);
    }
    if (busy_groups_ > 0)
      continue;
    else if (!done->empty())
      alert_until = now() + kAlert;
    else if (now() < alert_until)
      std::this_thread::yield();
    else if (const auto waited = queue_->wait(kIdle); !waited)
      return give_up(waited.error());
  }
}

void VerbsResponder::take(const Completion& completion) {
  const auto found = served_.find(completion.qp);
  if (found == served_.end() || completion.status != 0) return;
  Served& served = *found->second;
  if ((completion.work & kAnswerBit) != 0) {
    served.answered = served.answering;
    served.turnaround = completion.stamp.value_or(now()) - served.arrived;
    return;
  }
  if (served.tally != nullptr) return echo(served, completion);
  const auto slot = static_cast<std::size_t>(completion.work);
  (void)served.qp->post_receive(slot, served.group->slots->piece(slot, served.group->message));
}

void VerbsResponder::echo(Served& served, const Completion& completion) {
  const Nanoseconds at = now();
  Group& group = *served.group;
  ReceivedTally& tally = *served.tally;
  if (tally.packets++ == 0) tally.first = at;
  tally.last = at;
  tally.bytes += completion.bytes + static_cast<std::uint64_t>(roce_headers(false));
  const auto slot = static_cast<std::size_t>(completion.work);
  if (completion.bytes < ProbeNote::kSize || slot >= group.slots_in) return;
  const std::uint64_t sequence = load_note(group.slots->bytes(slot)).sequence;
  const std::size_t answer = group.slots_in + slot;
  store(group.slots->bytes(answer),
        {sequence, served.answered, static_cast<std::uint64_t>(served.turnaround.count())});
  served.answering = sequence;
  served.arrived = completion.stamp.value_or(at);
  // A full send queue loses the answer, as a full switch would: the prober sees it missing.
  const Message message{kAnswerBit | slot, group.slots->piece(answer, completion.bytes)};
  (void)served.qp->post(FlowOperation::send, {&message, 1});
  (void)served.qp->post_receive(slot, group.slots->piece(slot, group.message));
}

}  // namespace weft
