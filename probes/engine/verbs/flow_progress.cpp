#include "probes/engine/verbs/flow_progress.hpp"

namespace weft::verbs {

FlowProgress::FlowProgress(Nanoseconds interval, std::uint32_t depth, std::optional<std::uint64_t> volume)
    : interval_(interval),
      depth_(depth),
      volume_(volume),
      pacer_(interval, depth, Nanoseconds(0)),
      posted_at_(depth) {}

void FlowProgress::start(Nanoseconds at, bool warming) {
  pacer_ = datapath::Pacer(interval_, depth_, at);
  warming_ = warming;
}

void FlowProgress::measure_from(Nanoseconds at) {
  warming_ = false;
  due_ = due_before_ = posted_;  // what was not posted in time belongs to the warm-up
  counted_from_ = volume_ ? due_before_ : done_;
  counted_ = 0;
  latency_.clear();
  last_done_ = at;
}

FlowProgress::ToPost FlowProgress::post_due(Nanoseconds at) {
  const std::uint64_t allowed = pacer_.allowance(at);
  pacer_.sent(allowed);
  due_ += allowed;
  if (volume_ && !warming_) due_ = std::min(due_, due_before_ + *volume_);
  if (error_) return {};  // what its rate allows goes on: nothing of it arrives
  const std::uint64_t count = std::min(due_ - posted_, depth_ - (posted_ - done_));
  const ToPost posting{posted_, count};
  for (std::uint64_t i = 0; i < count; ++i) posted_at_[(posted_ + i) % depth_] = at;
  posted_ += count;
  return posting;
}

void FlowProgress::completed(std::uint32_t place, int status, Nanoseconds at) {
  if (error_) return;  // the others are its consequence
  done_ += (place + depth_ - done_ % depth_) % depth_ + (status == 0 ? 1 : 0);
  if (status != 0) error_ = status;
  if (!counting_ || warming_ || done_ <= counted_from_) return;
  counted_ = done_ - counted_from_;
  last_done_ = at;
  if (status != 0) return;
  latency_.add(at - posted_at_[place]);
}

}  // namespace weft::verbs
