// What was counted of each channel over time: ten seconds for two hours, minutes for two days, hours for 400
// days. Finer rows are summed up into coarser ones and forgotten as time goes on; both may stop at any point
// and go on later.
#pragma once

#include <optional>
#include <span>

#include "collectors/store/database.hpp"
#include "collectors/store/history_row.hpp"
#include "topology/model/fabric.hpp"

namespace weft::store {

using Seconds = std::chrono::seconds;

struct Resolution {
  Seconds length;
  Seconds kept;
};
inline constexpr std::array<Resolution, 3> kResolutions{{{Seconds(10), Seconds(2 * 3600)},
                                                         {Seconds(60), Seconds(2 * 86'400)},
                                                         {Seconds(3600), Seconds(400 * 86'400)}}};

/// Of all channels, in the bucket of ten seconds that begins then.
struct HistoryBucket {
  Seconds begin{};                      // since 1970, a multiple of ten
  std::vector<ChannelSample> channels;  // by ChannelId
};

/// Which channels there are, by name and in what order: rows of one fabric file are read by another one too.
/// Returns its number; makes it where it is new.
Result<std::int64_t> layout_of(Database& database, const Fabric& fabric);

/// Where something is kept of that bucket already (the clock was set back), it is added to it.
Result<void> record(Database& database, std::int64_t layout, const HistoryBucket& bucket);

/// Sums up what is complete at `now`, forgets what is too old: a bounded part of it at a time. `now` since
/// 1970.
Result<void> roll_up(Database& database, Seconds now);

struct HistoryPoint {
  Seconds begin{};
  Seconds length{};
  ChannelSample sample;
  friend bool operator==(const HistoryPoint&, const HistoryPoint&) = default;
};
/// Of one channel, ascending, in the finest steps that are kept. Error not_found: no layout has it.
Result<std::vector<HistoryPoint>> channel_history(Database& database, std::string_view channel, Seconds from,
                                                  Seconds until);

/// When the oldest bucket begins; absent: nothing is kept.
Result<std::optional<Seconds>> first_kept(Database& database);

/// For how long the fabric was watched in [from, until): the hours of which anything is kept, whole.
Result<Seconds> watched_time(Database& database, Seconds from, Seconds until);

struct HistorySnapshot {
  Seconds begin{};
  Seconds length{};
  std::vector<ChannelSample> channels;  // by ChannelId
};
/// All channels in the finest bucket that has `at`, of rows of a fabric with the same channels; absent:
/// nothing is kept of that time.
Result<std::optional<HistorySnapshot>> channels_at(Database& database, const Fabric& fabric, Seconds at);

}  // namespace weft::store
