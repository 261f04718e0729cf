// StandingResponder: the far end of standing probes: answers each probe of the assignment once, with a packet
// of the same size, and with how many of its stream have come. Pure; one thread.
#pragma once

#include "probes/datapath/packet_port.hpp"
#include "probes/watch/standing_counts.hpp"
#include "probes/watch/standing_keys.hpp"

namespace weft::watch {

class StandingResponder {
 public:
  /// All three outlive it. The seed as StandingCounts has it.
  StandingResponder(const datapath::LocalNic& nic, const ProbeCodec& codec, const StandingKeys& keys,
                    std::uint64_t seed, const StandingLimits& limits = {})
      : nic_(nic), codec_(codec), keys_(keys), counts_(seed, limits) {}

  /// Takes what the keys read of a frame that came to this NIC at `at`; writes an answer that goes out at
  /// `now` to the front of `reply`, as large as the probe's frame and zeros at first, and returns its size, 0
  /// where there is none.
  std::size_t take(const StandingKeys::Read& probe, Nanoseconds at, Nanoseconds now, MutableByteSpan reply);
  /// After the keys were renewed.
  void forget_strangers() { counts_.keep(keys_.asked(), keys_.asked_before()); }

 private:
  const datapath::LocalNic& nic_;
  const ProbeCodec& codec_;
  const StandingKeys& keys_;
  StandingCounts counts_;
};

}  // namespace weft::watch
