#include "balancer/trial/trial_sending.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "topology/model/fabric.hpp"

namespace weft::trial {
namespace {

/// A sending of more packets is left out of the packet mode: the agents wait meanwhile, half a second at
/// most.
constexpr std::uint64_t kMaxInPacketMode = 300'000;

double seconds(Nanoseconds time) { return std::chrono::duration<double>(time).count(); }

std::vector<session::PlannedTransfer> planned(const std::vector<flowsim::Sending>& sendings) {
  std::vector<session::PlannedTransfer> transfers;
  for (const flowsim::Sending& s : sendings)
    transfers.push_back({{s.src, s.dst}, s.label, s.back_label, s.packets});
  return transfers;
}

}  // namespace

SendingInHand::SendingInHand(const Ground& ground, bool steered, Phases phases, Nanoseconds limit,
                             std::vector<std::uint64_t> before)
    : ground_(ground), phases_(std::move(phases)), limit_(limit), before_(std::move(before)) {
  sum_.steered = steered;
  sum_.planned.resize(ground.in.fabric.channel_count());
  begin_phase();
}

void SendingInHand::begin_phase() {
  session::TransferSettings settings = ground_.options.transfer;
  settings.limit = limit_;
  asked_ = ground_.world.now();
  answered_.clear();
  transfer_ = std::make_unique<session::TransferStage>(ground_.in, ground_.results, planned(phases_[phase_]),
                                                       settings);
}

void SendingInHand::take(const session::WorkItem& item, const session::TaskAnswer* answer) {
  if (std::holds_alternative<datapath::TransferRequest>(item.work)) answered_[item.nic] = ground_.world.now();
  transfer_->take(item, answer);
}

bool SendingInHand::end_phase() {
  const Fabric& fabric = ground_.in.fabric;
  const auto& sendings = phases_[phase_++];
  Nanoseconds slowest{};
  for (std::size_t i = 0; i < sendings.size(); ++i) {
    const session::TransferOutcome& outcome = transfer_->outcomes()[i];
    slowest = std::max(slowest, outcome.elapsed);
    sum_.qps += 1;
    sum_.unfinished += outcome.delivered < sendings[i].packets ? 1 : 0;
    sum_.wanted += sendings[i].packets;
    sum_.sent += outcome.sent;
    sum_.received += outcome.received;
    if (outcome.error && !sum_.error)
      sum_.error =
          fmt::format("{} -> {} by label {}: {}", fabric.name_of_nic(sendings[i].src),
                      fabric.name_of_nic(sendings[i].dst), sendings[i].label.value(), *outcome.error);
    first_bytes_.unacknowledged += outcome.first ? 0 : 1;
    if (phase_ == 1 && outcome.first) time_first_byte(sendings[i].src, outcome);
  }
  sum_.measured += seconds(slowest);
  predict(sendings);
  const auto bytes = wire_bytes(sendings, ground_.options.frames, fabric.channel_count());
  for (std::size_t c = 0; c < bytes.size(); ++c) sum_.planned[c] += bytes[c];
  if (phase_ == phases_.size()) return true;
  begin_phase();
  return false;
}

/// An agent may have been asked late, where the bus lost the message: it began as long before its answer as
/// it says that it took.
void SendingInHand::time_first_byte(PortId src, const session::TransferOutcome& outcome) {
  const auto answered = answered_.find(src);
  const Nanoseconds began = outcome.took && answered != answered_.end()
                                ? std::max(asked_, answered->second - *outcome.took)
                                : asked_;
  const Nanoseconds first = began + *outcome.first;
  first_bytes_.first = std::min(first_bytes_.first.value_or(first), first);
  first_bytes_.last = std::max(first_bytes_.last.value_or(first), first);
}

/// What fluid model and packet mode say of one phase.
void SendingInHand::predict(const std::vector<flowsim::Sending>& sendings) {
  const TrialOptions& options = ground_.options;
  const auto rates = flowsim::line_rates(ground_.in.fabric);
  sum_.predicted += predicted_seconds(rates, sendings, options.frames);
  std::uint64_t packets = 0;
  for (const flowsim::Sending& sending : sendings) packets += sending.packets;
  if (packets == 0 || packets > kMaxInPacketMode) return;
  flowsim::PacketSettings settings = flowsim::usual_packets(ground_.in.fabric, options.transfer.size);
  settings.frames = options.frames;
  settings.window = options.transfer.window;
  settings.queue =
      Bytes(static_cast<std::int64_t>(*std::ranges::min_element(rates) * seconds(options.queue)));
  settings.burst = options.burst;
  settings.hop_delay = Nanoseconds(0);
  settings.host_queue = true;
  const auto run = send_packets(rates, sendings, settings);
  sum_.by_packets += *std::ranges::max_element(run.seconds);
}

Result<TrialSending> SendingInHand::finish() {
  WEFT_TRY(const auto after, ground_.world.carried());
  for (std::size_t c = 0; c < after.size(); ++c)
    sum_.counted.push_back(static_cast<double>(after[c] - before_[c]));
  return std::move(sum_);
}

}  // namespace weft::trial
