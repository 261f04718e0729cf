// The cables that traces between NICs show, without a fabric file. A switch answers a probe whose TTL ran out
// from the port by which it came in, or from one address whichever the port; which, and which addresses are
// one switch, follows from the traces: the last switch before a NIC is the first behind it; what enters one
// port comes from one switch. What cannot be told is a gap and never a guess. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "topology/base/ip.hpp"
#include "topology/model/path.hpp"

namespace weft::discover {

struct TracedNic {
  std::string name;  // as messages call it: host1, host1/p2
  IpAddress address;
};

/// What one label showed between two NICs.
struct Trace {
  std::uint32_t src = 0;  // index of the NICs
  std::uint32_t dst = 0;
  PathLabel label;
  std::vector<std::optional<IpAddress>> hops;  // the switches, from the first; absent: it was silent
  bool reached = false;                        // the peer answered: `hops` are all there are
};

struct TracedSwitch {
  std::vector<IpAddress> addresses;  // ascending; none: it never answers, and stands between its NICs
  unsigned level = 1;                // switches to the nearest NIC, itself included
  bool answers_from_one = false;     // whichever port a probe came in by
};

/// One end of a cable: a NIC, or a switch with the address of its port where that is known.
struct TracedEnd {
  bool is_nic = false;
  std::uint32_t index = 0;
  std::optional<IpAddress> port = std::nullopt;
  friend auto operator<=>(const TracedEnd&, const TracedEnd&) = default;
};

struct TracedCable {
  TracedEnd a;  // of a NIC's cable the NIC
  TracedEnd b;
  friend auto operator<=>(const TracedCable&, const TracedCable&) = default;
};

/// What is not known.
enum class GapKind : std::uint8_t {
  unplaced_address,    // it answered; which switch it is of cannot be told
  silent_above,        // a switch above this one, behind these of its ports, never answers
  silent_switch,       // this switch never answers: its ports have no addresses
  several_first_hops,  // a NIC enters the fabric by several switches or ports (a bond): its cables are not
                       // told
  untraced_nic,        // nothing answered a trace from or to it
  sprayed,             // packets of one flow take several paths: cables between switches cannot be told
  cables_as_one,       // these switches answer from one address: parallel cables beside them count as one
};
struct TracedGap {
  GapKind kind;
  std::optional<std::uint32_t> at = std::nullopt;  // the switch
  std::vector<std::uint32_t> nics = {};
  std::vector<IpAddress> addresses = {};
};

struct TracedCabling {
  std::vector<TracedSwitch> switches;  // by level, then by their first NIC or address
  std::vector<TracedCable> cables;
  std::vector<TracedGap> gaps;
};

TracedCabling cabling_of_traces(std::span<const TracedNic> nics, std::span<const Trace> traces);

}  // namespace weft::discover
