// What round trips took beside the load, and where they waited, with names instead of ids: the member
// `queueing` of `weft.diagnosis/1`.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "topology/files/json_text.hpp"
#include "topology/findings/loaded_trip.hpp"

namespace weft {
class Fabric;
}

namespace weft::files {

struct LoadedTripReport {
  std::uint32_t round = 0;
  std::string src, dst;  // NICs
  PathLabel label, back_label;
  std::vector<std::string> path, back;  // channels; none where several paths are possible
  Bytes size;                           // of a probe
  std::uint32_t sent = 0;
  std::uint32_t answered = 0;
  std::optional<RttQuantiles> loaded, idle;
};

struct ChannelQueueReport {
  std::vector<std::string> channels;
  Nanoseconds wait{};
  Nanoseconds error{};
  std::size_t trips = 0;
};

struct QueueingReport {
  std::vector<LoadedTripReport> trips;
  std::size_t left_out = 0;  // trips: there were too many
  std::vector<ChannelQueueReport> channels;
};

/// At most 5,000 trips, the first ones: 64 NICs have 4,032 pairs.
QueueingReport queueing_report(const Fabric& fabric, const PathTable& paths,
                               std::span<const LoadedTrip> trips, std::span<const ChannelQueue> queues);

/// The value of the member.
void put_queueing(JsonText& out, const QueueingReport& report);

}  // namespace weft::files
