#include "collectors/store/channel_history.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace weft::store {
namespace {

// A bucket is complete when the next one of its finer rows is written; a late one still counts within this.
constexpr Seconds kGrace{30};
// So much is summed up, or forgotten, at a time: a watcher that was away for days catches up in minutes, and
// no tick of it takes longer than a second.
constexpr int kBucketsAtATime = 6;
constexpr std::int64_t kRowsAtATime = 5'000;

SqlValue count(Seconds time) { return static_cast<std::int64_t>(time.count()); }

std::string names_of(const Fabric& fabric) {
  std::string names;
  for (std::uint32_t c = 0; c < fabric.channel_count(); ++c) names += fabric.name_of(ChannelId(c)) + '\n';
  return names;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (std::size_t end = 0; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1))
    lines.push_back(text.substr(0, end));
  return lines;
}

Result<std::vector<ChannelSample>> unpacked(const Database& database, ByteSpan row) {
  auto channels = unpack_row(row);
  if (!channels) return pass_on(channels, database.path().string());
  return channels;
}

void add(std::vector<ChannelSample>& sum, const std::vector<ChannelSample>& more) {
  if (sum.size() < more.size()) sum.resize(more.size());
  for (std::size_t i = 0; i < more.size(); ++i) sum[i] = merged(sum[i], more[i]);
}

struct RowKey {
  Seconds length;
  Seconds begin;
  std::int64_t layout;
  std::int64_t block;
};

Result<void> put_row(Database& database, const RowKey& key, std::span<const ChannelSample> channels) {
  const auto row = pack_row(channels);
  return database.execute(
      "INSERT OR REPLACE INTO history(resolution, bucket, layout, block, data) VALUES(?,?,?,?,?)",
      {count(key.length), count(key.begin), key.layout, key.block, ByteSpan(row)});
}

/// What is kept under that key already.
Result<std::vector<ChannelSample>> kept_row(Database& database, const RowKey& key) {
  std::vector<ChannelSample> kept;
  WEFT_TRY_VOID(database.query(
      "SELECT data FROM history WHERE resolution=? AND bucket=? AND layout=? AND block=?",
      {count(key.length), count(key.begin), key.layout, key.block}, [&](const Row& row) -> Result<void> {
        WEFT_TRY(kept, unpacked(database, row.bytes(0)));
        return {};
      }));
  return kept;
}

std::string rolled_name(const Resolution& coarse) { return fmt::format("rolled_{}", coarse.length.count()); }

/// Where the next coarse bucket begins of which finer rows are kept and not summed up; absent: none.
Result<std::optional<Seconds>> next_to_roll(Database& database, const Resolution& fine,
                                            const Resolution& coarse) {
  WEFT_TRY(const auto rolled, database.number("SELECT value FROM facts WHERE name=?", {rolled_name(coarse)}));
  WEFT_TRY(const auto first,
           database.number("SELECT min(bucket) FROM history WHERE resolution=? AND bucket>=?",
                           {count(fine.length), rolled}, -1));
  if (first < 0) return std::optional<Seconds>();
  return std::optional(Seconds(first - first % coarse.length.count()));
}

Result<void> roll_bucket(Database& database, const Resolution& fine, const Resolution& coarse,
                         Seconds begin) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<ChannelSample>> sums;  // by layout and block
  WEFT_TRY_VOID(database.query(
      "SELECT layout, block, data FROM history WHERE resolution=? AND bucket>=? AND bucket<?",
      {count(fine.length), count(begin), count(begin + coarse.length)}, [&](const Row& row) -> Result<void> {
        WEFT_TRY(const auto channels, unpacked(database, row.bytes(2)));
        add(sums[{row.integer(0), row.integer(1)}], channels);
        return {};
      }));
  return database.in_transaction([&]() -> Result<void> {
    for (const auto& [key, channels] : sums)
      WEFT_TRY_VOID(put_row(database, {coarse.length, begin, key.first, key.second}, channels));
    return database.execute("INSERT OR REPLACE INTO facts(name, value) VALUES(?,?)",
                            {rolled_name(coarse), count(begin + coarse.length)});
  });
}

/// `ready`: up to where the finer rows are complete.
Result<void> roll(Database& database, const Resolution& fine, const Resolution& coarse, Seconds ready) {
  for (int n = 0; n < kBucketsAtATime; ++n) {
    WEFT_TRY(const auto begin, next_to_roll(database, fine, coarse));
    if (!begin || *begin + coarse.length > ready) return {};
    WEFT_TRY_VOID(roll_bucket(database, fine, coarse, *begin));
  }
  return {};
}

/// Only what is summed up already, and seen from the newest row: a clock that runs ahead forgets nothing.
Result<void> forget(Database& database, const Resolution& old, const Resolution* coarse) {
  WEFT_TRY(const auto newest,
           database.number("SELECT max(bucket) FROM history WHERE resolution=?", {count(old.length)}, 0));
  std::int64_t before = newest - old.kept.count();
  if (coarse != nullptr) {
    WEFT_TRY(const auto rolled,
             database.number("SELECT value FROM facts WHERE name=?", {rolled_name(*coarse)}));
    before = std::min(before, rolled);
    before -= before % coarse->length.count();  // finer rows begin where a coarser one ends: no gap
  }
  return database.execute(
      "DELETE FROM history WHERE rowid IN "
      "(SELECT rowid FROM history WHERE resolution=? AND bucket<? ORDER BY bucket LIMIT ?)",
      {count(old.length), before, kRowsAtATime});
}

/// Layouts that have the channel, and where.
Result<std::map<std::int64_t, std::size_t>> places_of(Database& database, std::string_view channel) {
  std::map<std::int64_t, std::size_t> places;
  WEFT_TRY_VOID(database.query("SELECT id, names FROM layouts", {}, [&](const Row& row) -> Result<void> {
    const auto text = row.text(1);
    const auto names = lines_of(text);
    if (const auto at = std::ranges::find(names, channel); at != names.end())
      places[row.integer(0)] = static_cast<std::size_t>(at - names.begin());
    return {};
  }));
  if (places.empty())
    return fail(ErrorKind::not_found,
                "{}: there is no history of a channel '{}': channels are called as in leaf1->spine2",
                database.path().string(), channel);
  return places;
}

}  // namespace

Result<std::int64_t> layout_of(Database& database, const Fabric& fabric) {
  const std::string names = names_of(fabric);
  WEFT_TRY(const auto known, database.number("SELECT id FROM layouts WHERE names=?", {names}, -1));
  if (known >= 0) return known;
  WEFT_TRY_VOID(database.execute("INSERT INTO layouts(names) VALUES(?)", {names}));
  return database.number("SELECT max(id) FROM layouts");
}

Result<void> record(Database& database, std::int64_t layout, const HistoryBucket& bucket) {
  return database.in_transaction([&]() -> Result<void> {
    const std::span all(bucket.channels);
    for (std::size_t first = 0; first < all.size(); first += kChannelsPerRow) {
      const auto part = all.subspan(first, std::min(kChannelsPerRow, all.size() - first));
      const RowKey key{kResolutions[0].length, bucket.begin, layout,
                       static_cast<std::int64_t>(first / kChannelsPerRow)};
      WEFT_TRY(auto sum, kept_row(database, key));
      add(sum, {part.begin(), part.end()});
      WEFT_TRY_VOID(put_row(database, key, sum));
    }
    return {};
  });
}

Result<void> roll_up(Database& database, Seconds now) {
  Seconds ready = now - kGrace;
  for (std::size_t i = 0; i + 1 < kResolutions.size(); ++i) {
    WEFT_TRY_VOID(roll(database, kResolutions[i], kResolutions[i + 1], ready));
    WEFT_TRY(const auto next, next_to_roll(database, kResolutions[i], kResolutions[i + 1]));
    if (next) ready = std::min(ready, *next);
  }
  for (std::size_t i = 0; i < kResolutions.size(); ++i)
    WEFT_TRY_VOID(
        forget(database, kResolutions[i], i + 1 < kResolutions.size() ? &kResolutions[i + 1] : nullptr));
  return {};
}

Result<std::optional<Seconds>> first_kept(Database& database) {
  WEFT_TRY(const auto first, database.number("SELECT min(bucket) FROM history", {}, -1));
  return first < 0 ? std::nullopt : std::optional(Seconds(first));
}

Result<Seconds> watched_time(Database& database, Seconds from, Seconds until) {
  constexpr Seconds kHour(3600);
  WEFT_TRY(const auto hours,
           database.number("SELECT count(DISTINCT bucket / 3600) FROM history WHERE bucket >= ? AND "
                           "bucket < ?",
                           {std::int64_t{from.count()}, std::int64_t{until.count()}}));
  return std::min(hours * kHour, std::max(until - from, Seconds(0)));
}

Result<std::vector<HistoryPoint>> channel_history(Database& database, std::string_view channel, Seconds from,
                                                  Seconds until) {
  WEFT_TRY(const auto places, places_of(database, channel));
  std::vector<HistoryPoint> points;
  // Finest first; coarser ones only of the time before those.
  Seconds told_from = until;
  for (const Resolution& resolution : kResolutions) {
    std::map<Seconds, ChannelSample> found;
    for (const auto& [layout, place] : places)
      WEFT_TRY_VOID(
          database.query("SELECT bucket, data FROM history WHERE resolution=? AND bucket>? AND bucket<? AND "
                         "layout=? AND block=?",
                         {count(resolution.length), count(from - resolution.length), count(told_from), layout,
                          static_cast<std::int64_t>(place / kChannelsPerRow)},
                         [&](const Row& row) -> Result<void> {
                           WEFT_TRY(const auto channels, unpacked(database, row.bytes(1)));
                           const Seconds begin(row.integer(0));
                           const bool overlaps = told_from != until && begin + resolution.length > told_from;
                           if (place % kChannelsPerRow >= channels.size() || overlaps) return {};
                           auto [at, is_new] = found.try_emplace(begin, channels[place % kChannelsPerRow]);
                           if (!is_new) at->second = merged(at->second, channels[place % kChannelsPerRow]);
                           return {};
                         }));
    for (const auto& [begin, sample] : found) points.push_back({begin, resolution.length, sample});
    if (!found.empty()) told_from = found.begin()->first;
  }
  std::ranges::sort(points, {}, &HistoryPoint::begin);
  return points;
}

Result<std::optional<HistorySnapshot>> channels_at(Database& database, const Fabric& fabric, Seconds at) {
  WEFT_TRY(const auto own, database.number("SELECT id FROM layouts WHERE names=?", {names_of(fabric)}, -1));
  for (const Resolution& resolution : kResolutions) {
    HistorySnapshot snapshot{Seconds(at.count() - at.count() % resolution.length.count()), resolution.length,
                             std::vector<ChannelSample>(fabric.channel_count())};
    bool any = false;
    WEFT_TRY_VOID(database.query(
        "SELECT block, data FROM history WHERE resolution=? AND bucket=? AND layout=?",
        {count(resolution.length), count(snapshot.begin), own}, [&](const Row& row) -> Result<void> {
          WEFT_TRY(const auto channels, unpacked(database, row.bytes(1)));
          const auto first = static_cast<std::size_t>(row.integer(0)) * kChannelsPerRow;
          for (std::size_t i = 0; i < channels.size() && first + i < snapshot.channels.size(); ++i)
            snapshot.channels[first + i] = channels[i];
          any = true;
          return {};
        }));
    if (any) return std::optional(std::move(snapshot));
  }
  return std::optional<HistorySnapshot>();
}

}  // namespace weft::store
