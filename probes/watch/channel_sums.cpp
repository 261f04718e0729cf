#include "probes/watch/channel_sums.hpp"

#include <algorithm>

namespace weft::watch {
namespace {

constexpr std::size_t kMinute = 60;
constexpr std::uint64_t kMaxExcused = 10'000;  // probes of a row and second: what all rows add fits

void add_to(std::vector<ChannelCounts>& sums, const std::vector<ChannelCounts>& more) {
  for (std::size_t c = 0; c < sums.size(); ++c)
    sums[c].sent += more[c].sent, sums[c].lost += more[c].lost, sums[c].excused += more[c].excused;
}
void take_from(std::vector<ChannelCounts>& sums, const std::vector<ChannelCounts>& less) {
  for (std::size_t c = 0; c < sums.size(); ++c)
    sums[c].sent -= less[c].sent, sums[c].lost -= less[c].lost, sums[c].excused -= less[c].excused;
}

}  // namespace

bool RowChannels::is_on_all(std::span<const PathId> paths, ChannelId channel) const {
  return std::ranges::all_of(paths, [&](PathId path) {
    const auto its = paths_->channels(path);
    return std::ranges::find(its, channel) != its.end();
  });
}

RowsByChannel::RowsByChannel(const StandingPlan& plan, std::size_t channels) : offsets_(channels + 1, 0) {
  const auto for_each = [&](auto visit) {
    for (const StandingNic& nic : plan.nics)
      for (std::uint32_t s = 0; s < nic.streams.size(); ++s)
        for (const PathSetId set : {nic.streams[s].there, nic.streams[s].back})
          for (const PathId path : plan.paths.paths(set))
            for (const ChannelId channel : plan.paths.channels(path)) visit(channel, nic.first_row + s);
  };
  for_each([&](ChannelId channel, std::uint32_t) { ++offsets_[channel.value() + 1]; });
  for (std::size_t c = 0; c < channels; ++c) offsets_[c + 1] += offsets_[c];
  rows_.resize(offsets_.back());
  std::vector<std::uint32_t> next(offsets_.begin(), offsets_.end() - 1);
  for_each([&](ChannelId channel, std::uint32_t row) { rows_[next[channel.value()]++] = row; });
}

void ChannelSums::next_second() {
  if (seconds_.size() == kMinute) {
    take_from(minute_, seconds_.front());
    seconds_.pop_front();
  }
  seconds_.emplace_back(minute_.size());
  if (seconds_.size() > kRecent) take_from(recent_, seconds_[seconds_.size() - 1 - kRecent]);
}

void ChannelSums::add_excused(const StandingPlan& plan, const ExcusedRows& excused) {
  if (excused.empty()) return;
  std::vector<ChannelCounts> counts(minute_.size());
  const RowChannels rows(plan.paths, counts.size());
  for (const auto& [row, sent] : excused)
    for (const PathSetId set : {plan.stream(row).there, plan.stream(row).back})
      rows.for_each(set, [&](ChannelId channel) {
        counts[channel.value()].excused += static_cast<std::uint32_t>(std::min(sent, kMaxExcused));
      });
  for (auto* sums : {&seconds_.back(), &minute_, &recent_}) add_to(*sums, counts);
}

void ChannelSums::add(const StandingPlan& plan, const ScaleSums& second) {
  std::vector<ChannelCounts> counts(minute_.size());
  const RowChannels rows(plan.paths, counts.size());
  for (std::uint32_t n = 0; n < plan.nics.size(); ++n) {
    const StandingNic& nic = plan.nics[n];
    if (nic.streams.empty() || second.sent.sent(n) == 0) continue;
    for (std::uint32_t s = 0; s < nic.streams.size(); ++s) {
      const auto sent = static_cast<std::uint32_t>(second.telling(n, nic, s));
      if (sent == 0) continue;
      for (const PathSetId set : {nic.streams[s].there, nic.streams[s].back})
        rows.for_each(set, [&](ChannelId channel) { counts[channel.value()].sent += sent; });
    }
  }
  for (const auto& [row, lost] : second.lost) {
    const StandingStream& stream = plan.stream(row);
    rows.for_each_lost(stream, lost,
                       [&](ChannelId channel, std::uint32_t gone) { counts[channel.value()].lost += gone; });
    // What was lost on its way there did not go back.
    if (lost.there > 0)
      rows.for_each(stream.back, [&](ChannelId channel) {
        counts[channel.value()].sent -= std::min(counts[channel.value()].sent, lost.there);
      });
  }
  for (auto* sums : {&seconds_.back(), &minute_, &recent_}) add_to(*sums, counts);
  for (std::size_t c = 0; c < counts.size(); ++c)
    in_all_[c].sent += counts[c].sent, in_all_[c].lost += counts[c].lost;
}

}  // namespace weft::watch
