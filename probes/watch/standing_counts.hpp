// StandingCounts: how many probes of each stream a NIC's responder has counted, each once: what its echoes
// say, so that the prober alone knows on which way a probe was lost (RFC 5357, 4.2.1: the reflector's own
// sequence number). Of each NIC that asks the newest two batches are kept: while a plan changes, both of
// them are answered. Memory is bounded. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "probes/datapath/run_nics.hpp"
#include "topology/base/ids.hpp"
#include "topology/base/units.hpp"

namespace weft::watch {

struct StandingLimits {
  std::size_t streams = 65'536;  // of all NICs that ask; about 50 bytes each
  std::uint32_t rate = 5'000;    // probes a second that a NIC that asks is answered: ten times the usual rate
};

class StandingCounts {
 public:
  /// `seed` is drawn as the program starts: counts begin anywhere, so one that begins anew never looks like
  /// one that went on.
  explicit StandingCounts(std::uint64_t seed, const StandingLimits& limits = {})
      : seed_(seed), limits_(limits) {}

  /// Counts a probe: the low 16 bits of how many of its stream there are now. Absent where it is not to be
  /// answered: it came before, `streams` are kept already, or its NIC asks too often.
  std::optional<std::uint16_t> count(PortId nic, BatchId batch, std::uint32_t stream, std::uint32_t sequence,
                                     Nanoseconds now);
  /// Forgets NICs that neither of these lists has: they ask no more.
  void keep(const datapath::RunNics& asked, const datapath::RunNics& asked_before);
  std::size_t streams() const { return streams_; }

 private:
  struct Stream {
    std::uint32_t highest = 0;  // sequence
    std::uint64_t come = 0;     // bit i: highest - i came
    std::uint16_t count = 0;
  };
  struct Batch {
    std::optional<BatchId> id;
    std::unordered_map<std::uint32_t, Stream> streams;
  };
  struct Asker {
    std::array<Batch, 2> batches;  // the newer one first
    Nanoseconds second{};          // in which `asked` counts
    std::uint32_t asked = 0;
  };

  bool may_ask(Asker& asker, Nanoseconds now) const;
  Batch& batch_of(Asker& asker, BatchId id);
  static bool is_new(Stream& stream, std::uint32_t sequence);

  std::uint64_t seed_;
  StandingLimits limits_;
  std::unordered_map<PortId, Asker> askers_;
  std::size_t streams_ = 0;
};

}  // namespace weft::watch
