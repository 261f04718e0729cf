#include "probes/diagnosis/delay/queueing.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "probes/diagnosis/delay/delay_fit.hpp"
#include "probes/diagnosis/delay/delay_rows.hpp"

namespace weft::diagnosis {
namespace {

constexpr std::size_t kMaxTrips = 2'000;
constexpr std::size_t kMaxChannels = 2'000;
constexpr double kMinNoise = 1.0;   // microseconds, as of idle round trips (delay_rows.cpp)
constexpr double kUnlike = 0.05;    // of the idle round trip, likewise
constexpr double kStandsOut = 3.0;  // standard errors

double micros(Nanoseconds time) { return static_cast<double>(time.count()) / 1e3; }

/// There and back; none where one of the ways is a set.
std::vector<ChannelId> channels_of(const PathTable& table, const LoadedTrip& trip) {
  std::vector<ChannelId> channels;
  for (const auto& ways : {std::optional(trip.path), trip.back}) {
    if (!ways || table.paths(*ways).size() != 1) return {};
    const auto path = table.channels(table.paths(*ways)[0]);
    channels.insert(channels.end(), path.begin(), path.end());
  }
  return channels;
}

double noise_of(const LoadedTrip& trip) {
  const double tail = micros(trip.loaded->p99 - trip.loaded->p50);
  return std::hypot(std::max(kMinNoise, kUnlike * micros(trip.idle->p50)), DelayRows::kOfTail * tail);
}

/// Channels that the same trips cross are one column.
struct Columns {
  std::vector<DelayFit::Column> columns;
  std::vector<std::vector<ChannelId>> channels;  // by column
};

Columns columns_of(const std::map<ChannelId, std::vector<DelayFit::Entry>>& entries) {
  Columns all;
  const double cost = std::log(static_cast<double>(entries.size()) + 1);
  for (const auto& [channel, rows] : entries) {
    const auto same = std::ranges::find(all.columns, rows, &DelayFit::Column::entries);
    if (same != all.columns.end()) {
      all.channels[static_cast<std::size_t>(same - all.columns.begin())].push_back(channel);
      continue;
    }
    all.columns.push_back({rows, cost});
    all.channels.push_back({channel});
  }
  return all;
}

}  // namespace

std::vector<ChannelQueue> queues_by_channel(const PathTable& paths, std::span<const LoadedTrip> trips) {
  const std::size_t step = trips.size() / kMaxTrips + 1;
  std::vector<double> waits, noise;
  std::map<ChannelId, std::vector<DelayFit::Entry>> entries;
  for (std::size_t i = 0; i < trips.size(); i += step) {
    const auto wait = trips[i].wait();
    const auto channels = wait ? channels_of(paths, trips[i]) : std::vector<ChannelId>();
    if (channels.empty()) continue;
    const auto row = static_cast<std::uint32_t>(waits.size());
    waits.push_back(micros(*wait));
    noise.push_back(noise_of(trips[i]));
    for (const ChannelId channel : channels) entries[channel].push_back({row, 1.0});
  }
  if (waits.empty() || entries.size() > kMaxChannels) return {};
  const Columns columns = columns_of(entries);
  std::vector<ChannelQueue> queues;
  for (const DelayFit::Active& active :
       DelayFit(std::move(waits), std::move(noise), columns.columns).solve()) {
    if (active.shift < kStandsOut * active.error) continue;
    ChannelQueue queue{.channels = columns.channels[active.column],
                       .wait = Nanoseconds(std::llround(active.shift * 1e3)),
                       .error = Nanoseconds(std::llround(active.error * 1e3)),
                       .trips = columns.columns[active.column].entries.size()};
    for (const std::uint32_t other : active.alternatives)
      queue.channels.insert(queue.channels.end(), columns.channels[other].begin(),
                            columns.channels[other].end());
    std::ranges::sort(queue.channels);
    queues.push_back(std::move(queue));
  }
  std::ranges::stable_sort(queues, std::greater(), &ChannelQueue::wait);
  return queues;
}

}  // namespace weft::diagnosis
