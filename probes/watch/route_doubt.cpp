#include "probes/watch/route_doubt.hpp"

#include <algorithm>
#include <set>

namespace weft::watch {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr Nanoseconds kMaxDisbelief = hours(1);
constexpr Nanoseconds kForgotten = hours(2);
/// Each mapping pauses the standing probes: routes that move all the time are mapped as often as any.
constexpr Nanoseconds kMinPause = seconds(20);
constexpr Nanoseconds kMaxPause = minutes(1);
constexpr Nanoseconds kQuiet = minutes(10);

}  // namespace

bool RouteDoubt::believes(NodeId host, Nanoseconds until) const {
  if (until <= mapped_) return false;  // it came late: paths were mapped since
  const auto refuted = refuted_.find(host);
  return refuted == refuted_.end() || until >= refuted->second.until;
}

/// Also where it says otherwise later: it is held against the mapping.
void RouteDoubt::claim(NodeId host, const MovedRoute& moved, Nanoseconds until) {
  claims_.try_emplace({moved.src, moved.dst, moved.label}, Claim{host, moved, until});
  if (since_) return;
  if (until - asks_from_ > kQuiet) pause_ = {};
  since_ = until;
  news_ = moved;
}

void RouteDoubt::settle(Nanoseconds since, const RouteChecks& routes) {
  mapped_ = since;
  std::set<NodeId> wrong;
  for (const auto& [stream, claim] : claims_)
    if (claim.first <= since && routes.says(claim.moved) == HopSays::elsewhere) wrong.insert(claim.host);
  for (const NodeId host : wrong) refute(host, since);
  std::erase_if(
      claims_, [&](const auto& one) { return one.second.first <= since || wrong.contains(one.second.host); });
  if (!since_) return;
  since_.reset();
  for (const auto& [stream, claim] : claims_) since_ = std::min(since_.value_or(claim.first), claim.first);
  pause_ = std::clamp(2 * pause_, kMinPause, kMaxPause);
  asks_from_ = since + pause_;
}

void RouteDoubt::refute(NodeId host, Nanoseconds since) {
  Refuted& refuted = refuted_[host];
  if (since - refuted.until > kForgotten) refuted.times = 0;
  refuted.until = since + std::min(kMaxDisbelief, kDisbelief * (1U << std::min(refuted.times, 10U)));
  ++refuted.times;
}

}  // namespace weft::watch
