// Mute: what an operator wants nobody to be alerted of, a link or a node, from a time until another (also
// ahead, for planned work). What is muted is measured and shown all the same. Plain values and pure
// functions; times are of the wall clock, nanoseconds since 1970 (UTC).
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "topology/findings/incident.hpp"
#include "topology/model/fabric.hpp"

namespace weft {

using MuteTarget = std::variant<LinkId, NodeId>;

struct Mute {
  MuteTarget target;
  Nanoseconds from{};
  Nanoseconds until{};  // no longer muted at this time
  std::string reason;
  std::string who;
  friend bool operator==(const Mute&, const Mute&) = default;
};
using Mutes = std::vector<Mute>;

inline bool is_active(const Mute& mute, Nanoseconds now) { return mute.from <= now && now < mute.until; }

// Lists stay in the order in which mutes were added.

/// With `mute`; one that is there of the same target and overlaps it (or touches it) gives way to it.
Mutes with_mute(Mutes mutes, Mute mute);
/// Without those of `target`.
Mutes without_target(Mutes mutes, MuteTarget target);
/// Without those that have ended.
Mutes without_ended(Mutes mutes, Nanoseconds now);

/// The mute for which nobody is alerted of an incident at `place`: those active at `now` cover all of it,
/// each alternative too. A channel is covered by its link or by a node at either end. Of several the one that
/// ends last; null: it is not muted.
const Mute* muting(const Fabric& fabric, const Mutes& mutes, const IncidentPlace& place, Nanoseconds now);

/// What it is called: of a link or of a node.
std::string name_of(const Fabric& fabric, MuteTarget target);

}  // namespace weft
