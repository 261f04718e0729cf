#include "probes/wire/responder_loop.hpp"

#include <condition_variable>

namespace weft {
namespace {

constexpr auto kStopCheck = std::chrono::milliseconds(100);

void rest(const std::stop_token& stop) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any().wait_for(lock, stop, kStopCheck, [] { return false; });
}

}  // namespace

void ResponderLoop::run(std::stop_token stop) {
  while (!stop.stop_requested()) {
    const auto arrivals = port_.receive(port_.now() + kStopCheck);
    if (arrivals)
      serve(*arrivals);
    else
      rest(stop);
  }
}

void ResponderLoop::serve(std::span<const Arrival> arrivals) {
  if (arrivals.empty()) return;
  if (replies_.size() < arrivals.size()) replies_.resize(arrivals.size());
  outgoing_.clear();
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

std::vector<ReceivedTally> ResponderLoop::received(BatchId batch) const {
  const std::lock_guard lock(mutex_);
  return responder_.received(batch);
}

ResponderRejects ResponderLoop::rejects() const {
  const std::lock_guard lock(mutex_);
  return responder_.rejects();
}

}  // namespace weft
