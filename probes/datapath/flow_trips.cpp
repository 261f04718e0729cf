#include "probes/datapath/flow_trips.hpp"

#include <algorithm>

namespace weft::datapath {
namespace {

constexpr double kSendingShare = 0.8;  // of the flows' time
constexpr double kMaxOfFlow = 10'000;  // probes: a request from outside asks for no more of this host
constexpr Nanoseconds kMinWait = std::chrono::milliseconds(1);

}  // namespace

std::optional<TripRequest> trip_request(const FlowRequest& request) {
  if (!request.trips || request.duration <= Nanoseconds(0)) return std::nullopt;
  TripRequest trips{.pings = {.run = request.run, .batch = request.trips->batch, .peers = request.peers},
                    .flows = {}};
  for (std::uint32_t i = 0; i < request.specs.size(); ++i)
    if (request.specs[i].label && request.specs[i].back_label) trips.flows.push_back(i);
  const double seconds = kSendingShare * std::chrono::duration<double>(request.duration).count();
  const auto flows = static_cast<double>(trips.flows.size());
  if (trips.flows.empty()) return std::nullopt;
  const auto count =
      static_cast<std::uint32_t>(std::min(request.trips->packets_per_second * seconds / flows, kMaxOfFlow));
  if (count == 0) return std::nullopt;
  for (const std::uint32_t flow : trips.flows) {
    const FlowSpec& spec = request.specs[flow];
    trips.pings.specs.push_back({spec.peer, *spec.label, *spec.back_label, count, kTripProbe});
  }
  trips.pings.pace.packets_per_second = count * flows / seconds;
  trips.pings.pace.answer_wait =
      std::max(kMinWait, std::chrono::duration_cast<Nanoseconds>(request.duration * (1 - kSendingShare)));
  return trips;
}

void add_trips(const TripRequest& request, const std::vector<PingTally>& pings,
               std::vector<FlowTally>& flows) {
  for (const PingTally& ping : pings) {
    if (ping.spec >= request.flows.size()) continue;
    const auto flow = std::ranges::find(flows, request.flows[ping.spec], &FlowTally::spec);
    if (flow != flows.end()) flow->trips = TripTally{ping.sent, ping.answered, ping.rtt};
  }
}

}  // namespace weft::datapath
