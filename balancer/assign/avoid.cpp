#include "balancer/assign/avoid.hpp"

#include <algorithm>

namespace weft {
namespace {

constexpr double kShareOfDegraded = 0.5;

double share_left(const LinkFinding& finding) {
  if (finding.verdict == Verdict::failed) return 0.0;
  const bool measured = finding.cause == Cause::rate || finding.cause == Cause::congestion;
  if (measured && finding.estimate) return std::clamp(finding.estimate->value, 0.0, 1.0);
  return kShareOfDegraded;
}

}  // namespace

std::vector<Avoided> avoided_by(const Diagnosis& diagnosis) {
  std::vector<Avoided> avoided;
  const auto avoid = [&avoided](ChannelId channel, double share) {
    if (share < 1.0) avoided.push_back({channel, share});
  };
  for (const LinkFinding& finding : diagnosis.links) {
    if (finding.verdict == Verdict::healthy || finding.verdict == Verdict::unknown) continue;
    const double share = share_left(finding);
    if (finding.channel && finding.cause != Cause::down) {
      avoid(*finding.channel, share);
    } else {
      avoid(Fabric::a_to_b(finding.link), share);
      avoid(Fabric::b_to_a(finding.link), share);
    }
  }
  for (const GroupFinding& group : diagnosis.groups)
    if (group.verdict == Verdict::failed)
      for (const ChannelId channel : group.channels) avoid(channel, 0.0);
  return avoided;
}

BlacklistAvoided avoided_by(const Fabric& fabric, std::span<const BlacklistEntry> entries, UtcTime now) {
  BlacklistAvoided avoided;
  for (const BlacklistEntry& entry : entries) {
    if (entry.fabric != fabric.name() || !is_active(entry, now)) continue;
    const auto link = fabric.find_link(entry.link.name);
    if (!link) {
      avoided.unknown.push_back(fmt::format("{}: {}", entry.id, link.error().message));
      continue;
    }
    avoided.channels.push_back({Fabric::a_to_b(*link)});
    avoided.channels.push_back({Fabric::b_to_a(*link)});
  }
  return avoided;
}

}  // namespace weft
