// A blacklist entry: one link to keep work away from, why, and until when. Values; made from a diagnosis
// document (from_diagnosis.hpp), kept as JSON Lines (`weft.blacklist/1`, docs/schema/blacklist.schema.json).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topology/base/utc.hpp"
#include "topology/files/link_reference.hpp"
#include "topology/findings/verdict.hpp"

namespace weft::blacklist {

struct BlacklistEntry {
  std::string id;  // FABRIC:LINK; stays the same as long as the link has its name
  std::string fabric;
  FabricKind layer = FabricKind::roce;
  files::LinkReference link;
  Verdict verdict = Verdict::degraded;
  double confidence = 0;  // 0..1
  std::vector<std::string> evidence;
  UtcTime first_seen{};
  UtcTime last_seen{};
  UtcTime expires{};
  std::string owner;                 // who set it, and alone may take it back; ours is kOwner
  std::vector<std::string> actions;  // what was done about it, by exporters
  friend bool operator==(const BlacklistEntry&, const BlacklistEntry&) = default;
};

inline constexpr std::string_view kOwner = "weft";

inline bool is_active(const BlacklistEntry& entry, UtcTime now) { return now < entry.expires; }

/// One entry a line; empty lines are passed over. An Error names `what` and the line. The name of each
/// entry's link is made of its ends, with ports, so that Fabric::find_link knows it.
Result<std::vector<BlacklistEntry>> parse_blacklist(std::string_view text, std::string_view what);

}  // namespace weft::blacklist
