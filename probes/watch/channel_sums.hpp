// ChannelSums: how many probes crossed each channel, and how many of these were lost, second by second and
// over the last minute. Of a row over several paths those channels count that all of them cross. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "probes/watch/path_sums.hpp"

namespace weft::watch {

struct ChannelCounts {
  std::uint32_t sent = 0;
  std::uint32_t lost = 0;
  std::uint32_t excused = 0;  // crossed it, and a host's stall hides what became of them: not among the sent
  /// More than a fifth is hidden, too much to vouch for it: the cable of a host that tells of a stall
  /// whenever it loses something would be healthy.
  bool is_hidden() const { return excused > (sent + std::uint64_t{excused}) / 5; }
  /// What came through, all of its path: no other probe says anything good of the channel.
  std::uint32_t passed() const { return sent - std::min(sent, lost); }
  friend bool operator==(const ChannelCounts&, const ChannelCounts&) = default;
};

/// Which channels the rows of a plan cross for certain, there and back.
class RowChannels {
 public:
  RowChannels(const PathTable& paths, std::size_t channels) : paths_(&paths), channels_(channels) {}

  template <class Visit>
  void for_each(PathSetId set, Visit visit) const {
    const auto paths = paths_->paths(set);
    for (const ChannelId channel : paths_->channels(paths.front()))
      if (paths.size() == 1 || is_on_all(paths, channel)) visit(channel);
  }
  template <class Visit>
  void for_each_lost(const StandingStream& stream, const RowLosses& lost, Visit visit) const {
    if (const auto there = lost.there + lost.open; there > 0)
      for_each(stream.there, [&](ChannelId channel) { visit(channel, there); });
    if (const auto back = lost.back + lost.open; back > 0)
      for_each(stream.back, [&](ChannelId channel) { visit(channel, back); });
  }
  std::size_t channels() const { return channels_; }

 private:
  bool is_on_all(std::span<const PathId> paths, ChannelId channel) const;

  const PathTable* paths_;
  std::size_t channels_;
};

/// The rows of a plan by the channels that their paths, there or back, may cross.
class RowsByChannel {
 public:
  RowsByChannel(const StandingPlan& plan, std::size_t channels);
  std::span<const std::uint32_t> of(ChannelId channel) const {
    return std::span(rows_).subspan(offsets_[channel.value()],
                                    offsets_[channel.value() + 1] - offsets_[channel.value()]);
  }

 private:
  std::vector<std::uint32_t> offsets_;
  std::vector<std::uint32_t> rows_;  // ascending for each channel; a row twice where it crosses both ways
};

class ChannelSums {
 public:
  explicit ChannelSums(std::size_t channels) : minute_(channels), recent_(channels), in_all_(channels) {}

  /// The sums of one second, under `plan`.
  void add(const StandingPlan& plan, const ScaleSums& second);
  /// What was excused since the last second, by row, whenever it was sent.
  void add_excused(const StandingPlan& plan, const ExcusedRows& rows);
  /// Begins the next second; the one of a minute ago is forgotten.
  void next_second();

  const std::vector<ChannelCounts>& second() const { return seconds_.back(); }
  const std::vector<ChannelCounts>& minute() const { return minute_; }
  /// Of the last kRecent seconds.
  const std::vector<ChannelCounts>& recent() const { return recent_; }
  static constexpr std::size_t kRecent = 5;
  /// Since the first second.
  struct InAll {
    std::uint64_t sent = 0;
    std::uint64_t lost = 0;
  };
  const std::vector<InAll>& in_all() const { return in_all_; }

 private:
  std::deque<std::vector<ChannelCounts>> seconds_;
  std::vector<ChannelCounts> minute_;
  std::vector<ChannelCounts> recent_;
  std::vector<InAll> in_all_;
};

}  // namespace weft::watch
