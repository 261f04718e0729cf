// StandingKeys: the keys of a standing agent, by epoch: which one a probe carries now, which one a frame that
// came must have. Epochs of an assignment that is replaced are answered on for a while: not all hosts have
// the new one at once. Pure; one thread.
#pragma once

#include <deque>
#include <optional>
#include <unordered_map>

#include "probes/datapath/run_nics.hpp"
#include "probes/watch/assignment.hpp"
#include "probes/watch/probe_codec.hpp"

namespace weft::watch {

/// An epoch that is over is answered for so much longer: agents hear of the next one within a minute, and
/// their clocks have not drifted apart by more in an hour.
inline constexpr Nanoseconds kEpochOverlap = std::chrono::minutes(5);

class StandingKeys {
 public:
  /// Of a new assignment, or of the same with new keys. It is one that read_assignment lets pass.
  void renew(const Assignment& assignment, Nanoseconds now);

  /// What a probe from a NIC of the assignment to a peer of it is made with. Precondition: a stream goes
  /// there.
  packet::RunSecrets sending(PortId nic, const IpAddress& peer, Nanoseconds now) const;

  struct Read {
    CarriedProbe packet;  // authentic
    packet::RunKey key;   // that it, and an answer to it, is made with
  };
  /// A frame that came to a NIC at `local`. Absent: no probe of one that may ask, no echo of a peer.
  std::optional<Read> read(ByteSpan frame, const IpAddress& local, const ProbeCodec& codec);

  /// NICs that may ask by the assignment, and by the one before it.
  const datapath::RunNics& asked() const { return asked_; }
  const datapath::RunNics& asked_before() const { return asked_before_; }

 private:
  struct Asking {
    PortId nic;  // of this host
    IpAddress peer;
    friend bool operator==(const Asking&, const Asking&) = default;
  };
  struct Asker {
    IpAddress from;
    IpAddress local;
    friend bool operator==(const Asker&, const Asker&) = default;
  };
  struct Hash {
    std::size_t operator()(const Asking& pair) const;
    std::size_t operator()(const Asker& pair) const;
  };
  struct Epoch {
    RunId name;
    Nanoseconds until{};  // probes are of it; answered kEpochOverlap longer
    packet::Secret own;
    std::unordered_map<Asking, packet::RunKey, Hash> asking;
    std::unordered_map<Asker, packet::RunKey, Hash> askers;  // found so far: of NICs that may ask
  };

  const packet::RunKey* key_of(const CarriedProbe& packet);

  std::optional<PlanVersion> plan_;
  datapath::RunNics asked_;
  datapath::RunNics asked_before_;
  std::deque<Epoch> epochs_;  // those of the assignment in their order, then earlier ones
  std::size_t assigned_ = 0;  // of epochs_
};

}  // namespace weft::watch
