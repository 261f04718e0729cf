// The probe that weft sends over InfiniBand: a management datagram of a vendor class, to a LID that chooses
// the path. The receiver counts it and sends it back to the LID that it names. Authenticated with the run's
// key, so that nobody else's packet counts.
#pragma once

#include <optional>

#include "probes/mad/mad.hpp"
#include "probes/packet/run_secrets.hpp"
#include "topology/base/units.hpp"

namespace weft::mad {

struct MadProbe {
  bool is_echo = false;
  RunId run;
  BatchId batch;
  PortId from;             // the prober's NIC
  std::uint32_t spec = 0;  // the prober's index
  std::uint32_t sequence = 0;
  Lid back;            // where the echo goes
  Nanoseconds sent{};  // on the prober's clock; echoed as it is
  friend bool operator==(const MadProbe&, const MadProbe&) = default;
};

MadBytes encode_mad_probe(const MadProbe& probe, const packet::RunKey& key);
/// Absent: no probe of this run.
std::optional<MadProbe> decode_mad_probe(ByteSpan mad, RunId run, const packet::RunKey& key);

/// Size that observations state for such a probe: the MAD and its headers (LRH 8, BTH 12, DETH 8).
inline constexpr Bytes kMadProbeSize = Bytes(kMadSize + 28);

}  // namespace weft::mad
