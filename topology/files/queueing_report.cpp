#include "topology/files/queueing_report.hpp"

#include "topology/model/fabric.hpp"

namespace weft::files {
namespace {

constexpr std::size_t kMaxTrips = 5'000;

std::vector<std::string> names_of(const Fabric& fabric, const PathTable& paths,
                                  const std::optional<PathSetId>& ways) {
  std::vector<std::string> names;
  if (!ways || paths.paths(*ways).size() != 1) return names;
  for (const ChannelId channel : paths.channels(paths.paths(*ways)[0]))
    names.push_back(fabric.name_of(channel));
  return names;
}

double in_us(Nanoseconds time) { return static_cast<double>(time.count()) / 1e3; }

void put_names(JsonText& out, std::string_view name, const std::vector<std::string>& channels) {
  put(out, ",\"{}\":", name);
  put_array(out, channels, [&](const std::string& channel) { put_string(out, channel); });
}

void put_quantiles(JsonText& out, std::string_view name, const std::optional<RttQuantiles>& rtt) {
  if (!rtt) return;
  put(out, ",\"{}\":{{\"p50\":", name);
  put_number(out, in_us(rtt->p50));
  put(out, ",\"p99\":");
  put_number(out, in_us(rtt->p99));
  put(out, "}}");
}

void put_trip(JsonText& out, const LoadedTripReport& trip) {
  put(out, "\n{{\"round\":{},\"src\":", trip.round);
  put_string(out, trip.src);
  put(out, ",\"dst\":");
  put_string(out, trip.dst);
  put(out, ",\"label\":{},\"back_label\":{}", trip.label.value(), trip.back_label.value());
  put_names(out, "path", trip.path);
  put_names(out, "back", trip.back);
  put(out, ",\"bytes\":{},\"sent\":{},\"answered\":{}", trip.size.count(), trip.sent, trip.answered);
  put_quantiles(out, "rtt_us", trip.loaded);
  put_quantiles(out, "idle_us", trip.idle);
  put(out, "}}");
}

void put_queue(JsonText& out, const ChannelQueueReport& queue) {
  put(out, "\n{{\"channels\":");
  put_array(out, queue.channels, [&](const std::string& channel) { put_string(out, channel); });
  put(out, ",\"wait_us\":");
  put_number(out, in_us(queue.wait));
  put(out, ",\"error_us\":");
  put_number(out, in_us(queue.error));
  put(out, ",\"trips\":{}}}", queue.trips);
}

}  // namespace

QueueingReport queueing_report(const Fabric& fabric, const PathTable& paths,
                               std::span<const LoadedTrip> trips, std::span<const ChannelQueue> queues) {
  QueueingReport report;
  const std::size_t told = std::min(trips.size(), kMaxTrips);
  report.left_out = trips.size() - told;
  for (const LoadedTrip& trip : trips.first(told))
    report.trips.push_back({.round = trip.round,
                            .src = fabric.name_of_nic(trip.pair.src),
                            .dst = fabric.name_of_nic(trip.pair.dst),
                            .label = trip.pair.label,
                            .back_label = trip.back_label,
                            .path = names_of(fabric, paths, trip.path),
                            .back = names_of(fabric, paths, trip.back),
                            .size = trip.size,
                            .sent = trip.sent,
                            .answered = trip.answered,
                            .loaded = trip.loaded,
                            .idle = trip.idle});
  for (const ChannelQueue& queue : queues) {
    ChannelQueueReport row{.channels = {}, .wait = queue.wait, .error = queue.error, .trips = queue.trips};
    for (const ChannelId channel : queue.channels) row.channels.push_back(fabric.name_of(channel));
    report.channels.push_back(std::move(row));
  }
  return report;
}

void put_queueing(JsonText& out, const QueueingReport& report) {
  put(out, "{{\"trips\":");
  put_array(out, report.trips, [&](const LoadedTripReport& trip) { put_trip(out, trip); });
  put(out, ",\"left_out\":{},\"channels\":", report.left_out);
  put_array(out, report.channels, [&](const ChannelQueueReport& queue) { put_queue(out, queue); });
  put(out, "}}");
}

}  // namespace weft::files
