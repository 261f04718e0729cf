// LookFinding: what a look says is wrong, in the words of incidents, and what places have to do with one
// another. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "topology/findings/incident.hpp"

namespace weft {
class Fabric;
}

namespace weft::watch {

struct LookFinding {
  IncidentPlace place;
  Cause cause = Cause::loss;
  Verdict verdict = Verdict::unknown;
  std::optional<Estimate> estimate = std::nullopt;
  double confidence = 0;
  std::vector<std::string> evidence;
  double share = 0;     // lost, of all that crossed any of it; where there is no estimate
  Nanoseconds since{};  // when losses began, at the latest; zero: long ago, or no losses
  /// It may be opened: confident enough, not told by one host alone, not about a host that may be down.
  bool sure = false;
  bool held = false;  // not sure because routes moved before it began
  /// Not sure because hosts that answer what it lost have yet to tell of that time, and are not silent: they
  /// may say that they were stalled.
  bool early = false;
};

/// All that a place may be: its channels, those of its alternatives; where it has neither, those of its
/// nodes.
std::vector<ChannelId> channels_at(const Fabric& fabric, const IncidentPlace& place);

/// The findings of a diagnosis, in the words of incidents.
std::vector<LookFinding> findings_of(const Diagnosis& diagnosis);

/// The channels that a place names, of alternatives too; none of its nodes.
std::vector<ChannelId> all_channels(const IncidentPlace& place);
/// One of these channels is of a host's cable.
bool is_at_host(const Fabric& fabric, const IncidentPlace& place);
/// Some of both are of one cable.
bool overlaps(const std::vector<ChannelId>& a, const std::vector<ChannelId>& b);
/// Whatever the order of their alternatives: the order of alternatives is that of their likelihood, which
/// changes from look to look.
bool is_same(const IncidentPlace& a, const IncidentPlace& b);

}  // namespace weft::watch
