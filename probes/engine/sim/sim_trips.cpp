#include "probes/engine/sim/sim_trips.hpp"

#include "probes/datapath/flow_trips.hpp"
#include "probes/engine/sim/random_stream.hpp"
#include "probes/engine/sim/sim_ping.hpp"

namespace weft::sim {
namespace {

constexpr std::uint64_t kTripKey = 0x7219;

struct Ways {
  std::vector<ChannelState> there, back;
  std::size_t channels() const { return there.size() + back.size(); }
};

/// Absent: a probe, or its echo, does not arrive whatever its luck.
std::optional<Ways> ways_of(const SimWorld& world, const ChannelStates& channels, PortId from, PortId to,
                            const datapath::PingSpec& spec, const SentPacket& sent) {
  std::vector<ChannelId> there, back;
  if (!world.path_of(from, to, spec.label, there, sent)) return std::nullopt;
  if (!world.path_of(to, from, spec.back_label, back, sent)) return std::nullopt;
  Ways ways;
  for (const ChannelId channel : there) ways.there.push_back(channels[channel]);
  for (const ChannelId channel : back) ways.back.push_back(channels[channel]);
  return ways;
}

datapath::PingTally ping(const Ways& ways, std::uint32_t index, std::uint32_t count, RandomStream& random) {
  datapath::PingTally tally{.spec = index, .sent = count};
  const Bytes size = datapath::kTripProbe;
  const double passes = probe_survival(ways.there, size) * (1 - corruption(ways.there)) *
                        probe_survival(ways.back, size) * (1 - corruption(ways.back));
  tally.answered = static_cast<std::uint32_t>(random.binomial(count, passes));
  const Nanoseconds fixed = SimWorld::latency(ways.there, size) + SimWorld::latency(ways.back, size);
  if (tally.answered > 0) tally.rtt = with_jitter({fixed, fixed}, ways.channels(), tally.answered, random);
  return tally;
}

}  // namespace

void simulate_trips(const SimWorld& world, const ChannelStates& channels, PortId from,
                    const datapath::FlowRequest& request, Nanoseconds begin,
                    std::vector<datapath::FlowTally>& tallies) {
  const auto trips = datapath::trip_request(request);
  if (!trips || !world.can_send(from)) return;
  std::vector<datapath::PingTally> pings;
  for (std::uint32_t index = 0; index < trips->pings.specs.size(); ++index) {
    const datapath::PingSpec& spec = trips->pings.specs[index];
    const auto to =
        spec.peer < request.peers.size() ? world.nic_at(request.peers[spec.peer].address) : std::nullopt;
    if (!to) continue;
    // Where switches choose anew for each packet, the flow and its probes need not go one way.
    const SentPacket sent{{.number = mix_bits(std::uint64_t{trips->pings.batch.value()} << 32 | index)},
                          begin};
    RandomStream random({world.options().seed, kTripKey, trips->pings.batch.value(), from.value(), index,
                         to->value(), spec.label.value()});
    const auto ways = ways_of(world, channels, from, *to, spec, sent);
    pings.push_back(ways ? ping(*ways, index, spec.count, random)
                         : datapath::PingTally{.spec = index, .sent = spec.count});
  }
  datapath::add_trips(*trips, pings, tallies);
}

}  // namespace weft::sim
