// StandingResponder: the far end of standing probes: answers each probe of the assignment once, with a packet
// of the same size, and with how many of its stream have come. Probes of the assignment before are answered
// too, for not all agents have the new one at once. Pure; one thread.
#pragma once

#include "probes/datapath/packet_port.hpp"
#include "probes/packet/probe_frame.hpp"
#include "probes/watch/assignment.hpp"
#include "probes/watch/standing_counts.hpp"

namespace weft::watch {

/// What the NICs of a host answer to: an assignment's key and who may ask.
struct StandingKey {
  packet::RunSecrets secrets;
  datapath::RunNics asked;
};

/// The key by which the run of a frame is read: the assignment's, or that of the one before.
class StandingKeys {
 public:
  void renew(const Assignment& assignment);
  /// Absent: no probe or echo of either of them. What it gives is authentic.
  std::optional<packet::ProbePacket> read(ByteSpan frame) const;
  bool may_ask(const packet::ProbePacket& probe) const;
  const StandingKey* of(RunId run) const;
  const StandingKey& now() const { return now_; }
  const StandingKey& before() const { return before_; }

 private:
  StandingKey now_;
  StandingKey before_;
};

class StandingResponder {
 public:
  /// `nic` and `keys` outlive it. The seed as StandingCounts has it.
  StandingResponder(const datapath::LocalNic& nic, const StandingKeys& keys, std::uint64_t seed,
                    const StandingLimits& limits = {})
      : nic_(nic), keys_(keys), counts_(seed, limits) {}

  /// Takes a probe of this NIC received at `at`; writes an answer that goes out at `now` to the front of
  /// `reply`, as large as the probe's frame and zeros at first, and returns its size, 0 where there is none.
  std::size_t take(const packet::ProbePacket& probe, Nanoseconds at, Nanoseconds now, MutableByteSpan reply);
  /// After the keys were renewed.
  void forget_strangers() { counts_.keep(keys_.now().asked, keys_.before().asked); }

 private:
  const datapath::LocalNic& nic_;
  const StandingKeys& keys_;
  StandingCounts counts_;
};

}  // namespace weft::watch
