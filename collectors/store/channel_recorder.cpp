#include "collectors/store/channel_recorder.hpp"

namespace weft::store {
namespace {

Seconds bucket_of(Nanoseconds time) {
  const auto second = std::chrono::floor<Seconds>(time);
  return second - second % kResolutions[0].length;
}

/// Less than before: another watcher's count, or one begun anew. It says nothing of the time between.
std::uint64_t more(std::uint64_t now, std::uint64_t before) { return now < before ? 0 : now - before; }

}  // namespace

std::optional<HistoryBucket> ChannelRecorder::take(const watch::WatchState& state) {
  std::optional<HistoryBucket> ended;
  const Seconds begin = bucket_of(state.at);
  if (begin_ && *begin_ != begin) ended = HistoryBucket{*begin_, std::move(sums_)};
  if (begin_ != begin || sums_.size() != state.channels.size()) sums_.assign(state.channels.size(), {});
  begin_ = begin;
  const bool counts = before_.size() == state.channels.size();
  before_.resize(state.channels.size());
  for (std::size_t c = 0; c < state.channels.size(); ++c) {
    const auto& now = state.channels[c];
    auto& before = before_[c];
    const ChannelSample seen{.sent = counts ? more(now.sent_in_all, before.sent) : 0,
                             .lost = counts ? more(now.lost_in_all, before.lost) : 0,
                             .verdict = now.fresh ? now.verdict : Verdict::unknown};
    sums_[c] = merged(sums_[c], seen);
    before = {.sent = now.sent_in_all, .lost = now.lost_in_all};
  }
  return ended;
}

}  // namespace weft::store
