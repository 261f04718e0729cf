// Whose finding it is when two NICs do not agree: figures that cannot both be true, as of one that counts
// more packets than the other sent it, and queue pairs that one of them refuses. Of contradicting figures one
// of the two says what is not so; which one shows where it contradicts many others, who would all have to be
// wrong.
#pragma once

#include <string>
#include <vector>

#include "probes/session/stage.hpp"

namespace weft::session {

struct Contradiction {
  PortId one;
  PortId other;
  std::string what;  // in words: names both
};

/// Makes findings of the fewest NICs that explain all. A NIC without whom that would take two more at least
/// has failed, and so has one that contradicts itself: it takes no part any more, and is in the result. Where
/// it stays open who it was, as where two contradict one, all of them are named, as unknown.
std::set<PortId> note_contradictions(const Fabric& fabric, SweepResults& results,
                                     std::vector<Contradiction> all);

/// Why a sender's figures and what its peer says to have received cannot both be true; absent: they can.
/// Null: the peer received nothing.
std::optional<std::string> contradiction_of(const datapath::PingTally& sent,
                                            const datapath::ReceivedTally* received);
std::optional<std::string> contradiction_of(const datapath::FlowTally& sent,
                                            const datapath::ReceivedTally* received);

/// `peer` gave `asking` no queue pairs: a finding of the peer, said once, and it takes no part any more. Who
/// asked is not to blame, and goes on with its other peers.
void note_refusal(const Fabric& fabric, SweepResults& results, PortId asking, PortId peer,
                  const std::string& why);

}  // namespace weft::session
