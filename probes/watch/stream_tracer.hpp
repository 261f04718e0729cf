// StreamTracer: asks now and then, of the streams of one NIC in turn, whether a stream still takes the route
// that its plan has: by a packet of the stream whose hops run out at the switch that tells routes apart
// (StreamSpec::trace_hop), which then says who it is. Standing probes cannot tell: they come through
// whichever way routes went. Its packets carry the kind of a flow, so no peer counts or answers one that
// comes there. Frames and times in, frames and answers out. Pure; one thread.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "probes/watch/standing_keys.hpp"
#include "probes/watch/window.hpp"

namespace weft::watch {

/// The first station of the way to a peer, by its index; absent: none is known.
using HopOfPeer = std::function<std::optional<packet::MacAddress>(std::uint32_t peer)>;

/// What a NIC's probes are of.
struct StandingRun {
  PlanVersion plan;
  std::vector<datapath::Peer> peers;
  Bytes size;
  std::uint64_t boot = 0;  // of the agent: probes of its last life are others
};

class StreamTracer {
 public:
  /// References outlive it. `batch`: as the probes of the NIC have it.
  StreamTracer(const StandingRun& run, const StandingKeys& keys, const NicSchedule& schedule,
               const datapath::LocalNic& nic, const ProbeCodec& codec, BatchId batch, Nanoseconds start);

  /// The trace that is due, valid until the next call; empty: none is.
  ByteSpan compose(Nanoseconds now, const HopOfPeer& hop_of);
  /// Any frame that came to the NIC at `now`.
  void take(ByteSpan frame, Nanoseconds now);
  /// Answers since this was asked last, ascending by stream; of a stream the last one.
  std::vector<TracedHop> answers();

 private:
  struct Sent {
    std::uint32_t stream = 0;
    std::uint32_t sequence = 0;
    std::uint16_t identification = 0;
    packet::RunSecrets secrets;
    Nanoseconds at{};
  };
  const IpAddress& peer_of(std::uint32_t stream) const;

  const StandingRun& run_;
  const StandingKeys& keys_;
  const NicSchedule& schedule_;
  const datapath::LocalNic& nic_;
  const ProbeCodec& codec_;
  BatchId batch_;
  std::vector<std::uint32_t> streams_;  // that are traced; empty: none is
  Nanoseconds due_;
  std::uint32_t sequence_ = 0;
  std::vector<std::byte> frame_;
  std::deque<Sent> waiting_;  // oldest first
  std::map<std::uint32_t, IpAddress> answered_;
};

}  // namespace weft::watch
