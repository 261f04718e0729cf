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
constexpr Nanoseconds kGivenUp = hours(1);
/// Each mapping pauses the standing probes: routes that move all the time are mapped as often as any.
constexpr Nanoseconds kMinPause = seconds(20);
constexpr Nanoseconds kMaxPause = minutes(1);
constexpr Nanoseconds kQuiet = minutes(10);

}  // namespace

bool RouteDoubt::believes(NodeId host, Nanoseconds until) const {
  if (until <= mapped_ || until < nobody_until_) return false;  // the first: paths were mapped since
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

/// Several hosts that a mapping contradicts saw routes that came back; one alone may lie. What was said after
/// the mapping began and is so in its plan is settled, too.
void RouteDoubt::settle(Nanoseconds since, const RouteChecks& routes) {
  mapped_ = since;
  std::set<NodeId> contradicted;
  std::erase_if(claims_, [&](const auto& one) {
    const Claim& claim = one.second;
    const bool is_elsewhere = routes.says(claim.moved) == HopSays::elsewhere;
    if (is_elsewhere && claim.first <= since) contradicted.insert(claim.host);
    return !is_elsewhere || claim.first <= since;
  });
  if (contradicted.size() == 1) {
    const NodeId host = *contradicted.begin();
    refute(host, since);
    std::erase_if(claims_, [&](const auto& one) { return one.second.host == host; });
  }
  if (contradicted.size() > 1) note_several(since);
  if (!since_) return;
  since_.reset();
  for (const auto& [stream, claim] : claims_) since_ = std::min(since_.value_or(claim.first), claim.first);
  pause_ = std::clamp(2 * pause_, kMinPause, kMaxPause);
  asks_from_ = since + pause_;
}

void RouteDoubt::note_several(Nanoseconds since) {
  if (since - std::exchange(contradicted_at_, since) > kGivenUp) contradicted_ = 0;
  if (++contradicted_ < kMaxContradicted) return;
  contradicted_ = 0;
  nobody_until_ = since + kGivenUp;
  gave_up_ = true;
  claims_.clear();
}

void RouteDoubt::refute(NodeId host, Nanoseconds since) {
  Refuted& refuted = refuted_[host];
  if (since - refuted.until > kForgotten) refuted.times = 0;
  refuted.until = since + std::min(kMaxDisbelief, kDisbelief * (1U << std::min(refuted.times, 10U)));
  ++refuted.times;
}

}  // namespace weft::watch
