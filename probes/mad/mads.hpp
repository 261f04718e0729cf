// Mads: the seam for management datagrams: one port of one HCA, or a simulated one. Sends a MAD to an
// address and gives what arrives, in any order; it neither retries nor keeps count (MadExchange does). Used
// by one thread at a time.
#pragma once

#include <optional>

#include "probes/mad/mad.hpp"
#include "topology/base/units.hpp"

namespace weft::mad {

struct MadPacket {
  MadTarget to;
  MadBytes bytes{};
  Nanoseconds answer_wait{};  // how long the carrier should hold on for an answer; zero: none is expected
  bool is_urgent = true;      // the next question waits for the answer: the carrier may keep looking for it
};

struct MadArrival {
  MadBytes bytes{};
  bool undelivered = false;  // not an answer: the carrier's word that this MAD of ours got none
  Lid from;                  // the sender's LID, where the packet was LID routed
};

class Mads {
 public:
  virtual ~Mads() = default;
  virtual Result<void> send(const MadPacket& packet) = 0;
  /// The next arrival, waiting `at_most` for it; nothing when none came.
  virtual Result<std::optional<MadArrival>> receive(Nanoseconds at_most) = 0;
  /// Lets arrivals gather for a moment, where taking them one by one costs more than the moment.
  virtual void gather() {}
  /// A clock that only goes forward; the fabric's own where it is simulated.
  virtual Nanoseconds now() = 0;
};

}  // namespace weft::mad
