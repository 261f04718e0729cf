#include "probes/datapath/responder_loop.hpp"

#include <condition_variable>

namespace weft {
namespace {

constexpr auto kStopCheck = std::chrono::milliseconds(100);
// Flow packets want no answer and carry the kernel's time: a few are read at once, not each as it comes,
// which at 1,500 a second and sixteen hosts on two cores would cost more than the packets. An echo delayed by
// this is not taken for a slow path, since its turnaround says so.
constexpr auto kGather = std::chrono::milliseconds(2);
constexpr std::size_t kFew = 8;  // in that time; more means a rate at which waiting would fill the socket

void rest(const std::stop_token& stop, std::chrono::milliseconds time) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any().wait_for(lock, stop, time, [] { return false; });
}

}  // namespace

void ResponderLoop::run(std::stop_token stop) {
  while (!stop.stop_requested()) {
    const auto arrivals = port_.receive(port_.now() + kStopCheck);
    if (arrivals) serve(*arrivals);
    const bool only_flows = arrivals && !arrivals->empty() && arrivals->size() < kFew && outgoing_.empty();
    if (!arrivals)
      rest(stop, kStopCheck);
    else if (only_flows)
      rest(stop, kGather);
  }
}

void ResponderLoop::serve(std::span<const Arrival> arrivals) {
  outgoing_.clear();
  if (arrivals.empty()) return;
  if (replies_.size() < arrivals.size()) replies_.resize(arrivals.size());
  {
    const std::lock_guard lock(mutex_);
    const auto now = port_.now();
    for (const auto& arrival : arrivals) {
      auto& reply = replies_[outgoing_.size()];
      if (reply.size() != arrival.frame.size()) reply.assign(arrival.frame.size(), std::byte{0});
      const auto size = responder_.take(arrival.frame, arrival.at, now, reply);
      if (size > 0) outgoing_.push_back(ByteSpan(reply).first(size));
    }
  }
  // An echo that does not go out at once is not sent: its prober takes it for lost, and a flood of probes
  // cannot pile up answers here.
  if (!outgoing_.empty()) (void)port_.send(outgoing_);
}

std::vector<ReceivedTally> ResponderLoop::received(BatchId batch) {
  const std::lock_guard lock(mutex_);
  if (asked_ != batch) dropped_ = 0;
  asked_ = batch;
  dropped_ += port_.overruns();
  auto tallies = responder_.received(batch);
  for (ReceivedTally& tally : tallies) tally.dropped = dropped_;
  return tallies;
}

ResponderRejects ResponderLoop::rejects() const {
  const std::lock_guard lock(mutex_);
  return responder_.rejects();
}

}  // namespace weft
