#include "probes/watch/path_sums.hpp"

#include <algorithm>
#include <array>

namespace weft::watch {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

/// Buckets of `length` are kept so until they are `until` old, then they join one of the next length: a span
/// that begins at a bucket is a fifth too long at most.
struct Level {
  Nanoseconds length;
  Nanoseconds until;
};
constexpr std::array kLevels{Level{seconds(1), seconds(50)}, Level{seconds(10), minutes(5)},
                             Level{minutes(1), minutes(50)}, Level{minutes(10), hours(5)},
                             Level{hours(1), hours(26)}};

constexpr std::size_t kBoots = 4;       // an agent that restarts more often loses windows that come late
constexpr std::size_t kMissing = 2048;  // more windows than a spool of 20 minutes holds
constexpr std::size_t kHoles = 64;
constexpr Nanoseconds kMaxLag = minutes(20);  // what the stream keeps
/// Windows that an agent may send at once, as after the bus was away, and those each second: two, and those
/// that losses in a row close early.
constexpr double kAtOnce = 1500;
constexpr double kEachSecond = 10;
/// Of the rate of a plan: clocks run apart by less, and agents learn of a plan later than it is made.
constexpr double kFaster = 1.02;
constexpr double kAhead = 2.0;   // seconds
constexpr double kDrift = 2e-4;  // of two steady clocks; crystals are within 1e-4
/// What the times of two hosts' windows, as they are known here, differ by: how late the first of each came,
/// on a host that is busy (its thread for the bus looks each 50 ms).
constexpr Nanoseconds kTimesDiffer = std::chrono::milliseconds(200);
/// A window that is not stalled is no longer.
constexpr Nanoseconds kMaxWindowTime = std::chrono::milliseconds(1150);
constexpr std::size_t kStalls = 64;  // of a NIC that are remembered for windows that come later

double in_seconds(Nanoseconds time) { return std::chrono::duration<double>(time).count(); }

bool in_order(const NicWindow& told) {
  const auto rising = [](const auto& list, auto member) {
    return std::ranges::adjacent_find(list, std::ranges::greater_equal(), member) == list.end();
  };
  return rising(told.lost, &LostProbe::offset) && rising(told.settled, &SettledProbe::number) &&
         rising(told.delays, &StreamDelays::stream) && rising(told.traced, &TracedHop::stream);
}

/// `range` cut out of `holes`; false where it lies in none.
bool cut_out(std::vector<SentRange>& holes, SentRange range) {
  for (std::size_t i = 0; i < holes.size(); ++i) {
    if (range.first < holes[i].first || range.end > holes[i].end) continue;
    const SentRange after{range.end, holes[i].end};
    holes[i].end = range.first;
    if (after.count() > 0) holes.insert(holes.begin() + static_cast<std::ptrdiff_t>(i) + 1, after);
    std::erase_if(holes, [](const SentRange& hole) { return hole.count() == 0; });
    return true;
  }
  return false;
}

}  // namespace

void RowLosses::add(const RowLosses& other) {
  there += other.there;
  back += other.back;
  open += other.open;
  first = std::min(first, other.first);
}

std::uint64_t ScaleSums::telling(std::uint32_t n, const StandingNic& nic, std::uint32_t stream) const {
  const std::uint64_t all = sent.sent(n, stream, nic.streams.size());
  if (stalled.empty()) return all;
  const auto row = nic.first_row + stream;
  const auto at = std::ranges::lower_bound(stalled, row, {}, [](const auto& one) { return one.first; });
  return at == stalled.end() || at->first != row ? all : all - std::min(all, at->second);
}

PathSums::PathSums(const StandingPlan& plan, PlanVersion version, Nanoseconds since)
    : plan_(&plan), version_(version), since_(since), now_(since), delays_(plan.rows) {}

PathSums::Boot& PathSums::boot_of(NodeId host, std::uint64_t boot) {
  auto& boots = agents_[host].boots;
  const auto known = std::ranges::find(boots, boot, &Boot::boot);
  if (known != boots.end()) return *known;
  if (boots.size() == kBoots) boots.pop_back();
  const std::size_t nics = plan_->nics_of(host).size();
  boots.insert(boots.begin(), Boot{.boot = boot, .ends = std::vector<std::uint64_t>(nics, 0), .holes = {}});
  boots.front().holes.resize(nics);
  return boots.front();
}

bool PathSums::pays(Agent& agent, Nanoseconds arrival) const {
  agent.credit = agent.at == Nanoseconds{}
                     ? kAtOnce
                     : std::min(kAtOnce, agent.credit + kEachSecond * in_seconds(arrival - agent.at));
  agent.at = arrival;
  if (agent.credit < 1) return false;
  agent.credit -= 1;
  return true;
}

bool PathSums::is_told(const Boot& boot, std::uint64_t number) {
  return number < boot.next && !std::ranges::binary_search(boot.missing, number);
}

std::optional<Refusal> PathSums::check(NodeId host, const Boot& boot, const Window& window,
                                       Nanoseconds arrival) const {
  if (is_told(boot, window.number)) return Refusal::repeat;
  const auto nics = plan_->nics_of(host);
  std::vector<bool> seen(nics.size(), false);
  for (const NicWindow& told : window.nics) {
    if (told.nic >= nics.size() || seen[told.nic] || nics[told.nic].streams.empty())
      return Refusal::impossible;
    seen[told.nic] = true;
    const StandingNic& nic = nics[told.nic];
    if (told.count > kMaxProbesOfWindow || !in_order(told)) return Refusal::impossible;
    if (!told.lost.empty() && told.lost.back().offset >= told.count) return Refusal::impossible;
    if (!told.settled.empty() && told.settled.back().number >= told.first) return Refusal::impossible;
    if (!told.delays.empty() && told.delays.back().stream >= nic.streams.size()) return Refusal::impossible;
    if (!told.traced.empty() && told.traced.back().stream >= nic.streams.size()) return Refusal::impossible;
    const double most = nic.packets_per_second * kFaster * (in_seconds(arrival - since_) + kAhead);
    if (static_cast<double>(told.first) + told.count > most + nic.burst) return Refusal::too_fast;
    const SentRange range{told.first, told.first + told.count};
    auto holes = boot.holes[told.nic];
    if (range.count() > 0 && range.first < boot.ends[told.nic] && !cut_out(holes, range))
      return Refusal::went_back;
  }
  return std::nullopt;
}

std::int64_t PathSums::note_number(Boot& boot, std::uint64_t number) {
  if (number < boot.next) {
    std::erase(boot.missing, number);
    return -1;
  }
  const bool is_first = boot.ends.empty() || boot.last == Nanoseconds{};
  // What came before the first that was heard: it may still come, and is no gap.
  const std::uint64_t from = is_first ? number - std::min<std::uint64_t>(number, kHoles) : boot.next;
  const std::uint64_t gaps = is_first ? 0 : number - boot.next;
  for (std::uint64_t i = std::max(from, number - std::min<std::uint64_t>(number, kMissing)); i < number; ++i)
    boot.missing.push_back(i);
  if (boot.missing.size() > kMissing)
    boot.missing.erase(boot.missing.begin(), boot.missing.end() - static_cast<std::ptrdiff_t>(kMissing));
  boot.next = number + 1;
  return static_cast<std::int64_t>(gaps);
}

void PathSums::note_sent(Boot& boot, const NicWindow& told) {
  const SentRange range{told.first, told.first + told.count};
  std::uint64_t& end = boot.ends[told.nic];
  auto& holes = boot.holes[told.nic];
  if (range.count() == 0 || (range.first < end && cut_out(holes, range))) return;
  if (range.first > end) holes.push_back({end, range.first});
  if (holes.size() > kHoles) holes.erase(holes.begin());
  end = range.end;
}

/// By its own clock, less the fastest way that a window of this boot took here.
Nanoseconds PathSums::lag_of(Boot& boot, const Window& window, Nanoseconds arrival) {
  // Whatever it says: the sum cannot overflow.
  const Nanoseconds longest = hours(24 * 365 * 20);
  const Nanoseconds end =
      std::clamp(window.begin, -longest, longest) + std::clamp(window.length, Nanoseconds{}, longest);
  const Nanoseconds taken = arrival - end;
  if (boot.offset) {
    const double drift = kDrift * static_cast<double>((arrival - boot.last).count());
    *boot.offset += Nanoseconds(static_cast<std::int64_t>(drift));
  }
  boot.offset = std::min(boot.offset.value_or(taken), taken);
  return std::clamp(taken - *boot.offset, Nanoseconds{}, kMaxLag);
}

PathSums::Bucket& PathSums::bucket_at(Nanoseconds at) {
  const auto behind = std::ranges::upper_bound(buckets_, at, {}, &Bucket::from);
  if (behind != buckets_.begin() && at < std::prev(behind)->end()) return *std::prev(behind);
  const Nanoseconds length = kLevels.front().length;
  return *buckets_.insert(behind, Bucket{.from = at - at % length,
                                         .length = length,
                                         .sent = SentRanges(plan_->nics.size()),
                                         .lost = {},
                                         .stalled = {}});
}

void PathSums::age() {
  std::deque<Bucket> aged;
  for (Bucket& bucket : buckets_) {
    auto level = std::ranges::find(kLevels, bucket.length, &Level::length);
    Nanoseconds from = bucket.from, length = bucket.length;
    for (; level != kLevels.end() && std::next(level) != kLevels.end(); ++level) {
      const Nanoseconds wider = std::next(level)->length;
      const Nanoseconds start = from - from % wider;
      if (start + wider > now_ - level->until) break;
      from = start, length = wider;
    }
    if (length == kLevels.back().length && from + length < now_ - kLevels.back().until) {
      for (const auto& [row, lost] : bucket.lost)
        if (lost.open > 0) open_[row] -= lost.open;
      continue;
    }
    if (!aged.empty() && aged.back().from == from && aged.back().length == length) {
      aged.back().sent.add(bucket.sent);
      for (const auto& [row, lost] : bucket.lost) aged.back().lost[row].add(lost);
      for (const auto& [row, sent] : bucket.stalled) aged.back().stalled[row] += sent;
      continue;
    }
    bucket.from = from, bucket.length = length;
    aged.push_back(std::move(bucket));
  }
  buckets_ = std::move(aged);
  for (auto& [nic, stalls] : stalls_)
    std::erase_if(stalls, [this](const NicStall& stall) { return stall.until < now_ - kMaxLag; });
  std::erase_if(stalls_, [](const auto& of_nic) { return of_nic.second.empty(); });
}

void PathSums::settle(std::uint32_t row, LostWay way) {
  const auto open = open_.find(row);
  if (open == open_.end() || open->second == 0 || way == LostWay::open) return;
  for (Bucket& bucket : buckets_) {
    const auto at = bucket.lost.find(row);
    if (at == bucket.lost.end() || at->second.open == 0) continue;
    --at->second.open, --open->second;
    ++(way == LostWay::there ? at->second.there : at->second.back);
    return;
  }
}

/// What is told of losses of windows before, be this one in a stall or not.
void PathSums::settle_all(NodeId host, const Window& window) {
  const auto nics = plan_->nics_of(host);
  for (const NicWindow& told : window.nics)
    for (const SettledProbe& settled : told.settled) {
      const StandingNic& nic = nics[told.nic];
      if (nic.streams.empty()) continue;
      settle(nic.first_row + static_cast<std::uint32_t>(settled.number % nic.streams.size()), settled.way);
    }
}

/// A host that did not run, or dropped what came to one of its NICs, answers for no probe that others sent
/// there meanwhile, as for none of its own: whether it was lost on the way nobody knows.
std::vector<NicStall> PathSums::stalls_of(NodeId host, const Window& window, Nanoseconds until) const {
  const Nanoseconds from = until - std::clamp(window.length, Nanoseconds{}, kMaxLag) - kTimesDiffer;
  const auto nics = plan_->nics_of(host);
  std::vector<NicStall> stalls;
  if (window.stalled)
    for (const StandingNic& nic : nics) stalls.push_back({nic.nic, from, until + kTimesDiffer});
  else
    for (const NicWindow& told : window.nics)
      if (told.dropped > 0) stalls.push_back({nics[told.nic].nic, from, until + kTimesDiffer});
  return stalls;
}

void PathSums::note_stall(const NicStall& stall) {
  auto& stalls = stalls_[stall.nic];
  if (!stalls.empty() && stalls.back().from <= stall.until && stall.from <= stalls.back().until)
    stalls.back() = {stall.nic, std::min(stalls.back().from, stall.from),
                     std::max(stalls.back().until, stall.until)};
  else
    stalls.push_back(stall);
  if (stalls.size() > kStalls) stalls.erase(stalls.begin());
  for (Bucket& bucket : buckets_)
    if (bucket.end() > stall.from && bucket.from < stall.until + kMaxWindowTime)
      for (const std::uint32_t row : rows_to(stall.nic)) pass_over(row, bucket);
}

/// All that the bucket has of it.
void PathSums::pass_over(std::uint32_t row, Bucket& bucket) {
  const std::uint32_t n = plan_->nic_of(row);
  const StandingNic& nic = plan_->nics[n];
  const auto sent = bucket.sent.sent(n, row - nic.first_row, nic.streams.size());
  if (sent > 0) {
    std::uint64_t& stalled = bucket.stalled[row];
    excused_[row] += sent - std::min(sent, stalled);
    stalled = sent;
  }
  const auto lost = bucket.lost.find(row);
  if (lost == bucket.lost.end()) return;
  if (lost->second.open > 0) open_[row] -= lost->second.open;
  bucket.lost.erase(lost);
}

const std::vector<std::uint32_t>& PathSums::rows_to(PortId nic) {
  if (rows_to_.empty())
    for (const StandingNic& each : plan_->nics)
      for (std::uint32_t s = 0; s < each.streams.size(); ++s)
        rows_to_[each.streams[s].peer].push_back(each.first_row + s);
  return rows_to_[nic];
}

/// By stream: whether probes that were sent then went to a NIC in a stall. Empty: none did.
std::vector<bool> PathSums::to_stalled(const StandingNic& nic, Nanoseconds from, Nanoseconds until) const {
  std::vector<bool> streams;
  if (stalls_.empty()) return streams;
  for (std::size_t s = 0; s < nic.streams.size(); ++s) {
    const auto stalls = stalls_.find(nic.streams[s].peer);
    if (stalls == stalls_.end()) continue;
    const auto meets = [&](const NicStall& stall) { return stall.from < until && from < stall.until; };
    if (std::ranges::none_of(stalls->second, meets)) continue;
    streams.resize(nic.streams.size(), false);
    streams[s] = true;
  }
  return streams;
}

void PathSums::add(std::uint32_t nic, const NicWindow& told, Bucket& bucket, Nanoseconds from,
                   Nanoseconds until) {
  const StandingNic& standing = plan_->nics[nic];
  const std::uint64_t streams = standing.streams.size();
  bucket.sent.add(nic, {told.first, told.first + told.count});
  const auto row_of = [&](std::uint64_t number) {
    return standing.first_row + static_cast<std::uint32_t>(number % streams);
  };
  const auto stalled = to_stalled(standing, from, until);
  for (std::uint32_t s = 0; s < stalled.size(); ++s) {
    if (!stalled[s]) continue;
    const auto sent = sent_of({told.first, told.first + told.count}, s, streams);
    bucket.stalled[standing.first_row + s] += sent;
    excused_[standing.first_row + s] += sent;
  }
  for (const LostProbe& lost : told.lost) {
    const std::uint32_t row = row_of(told.first + lost.offset);
    if (!stalled.empty() && stalled[row - standing.first_row]) continue;
    RowLosses& sums = bucket.lost[row];
    sums.first = std::min(sums.first, until);
    ++(lost.way == LostWay::there ? sums.there : lost.way == LostWay::back ? sums.back : sums.open);
    if (lost.way == LostWay::open) ++open_[row];
  }
  for (const StreamDelays& delays : told.delays) {
    const auto p50 = delays.rtt.quantile(0.5), p99 = delays.rtt.quantile(0.99);
    if (p50 && p99) delays_[standing.first_row + delays.stream] = {{*p50, *p99}, until};
  }
}

Taken PathSums::take(NodeId host, const Window& window, Nanoseconds arrival) {
  Taken taken;
  if (window.plan != version_) return {.refused = Refusal::other_plan};
  if (!pays(agents_[host], arrival)) return {.refused = Refusal::too_fast};
  Boot& boot = boot_of(host, window.boot);
  taken.refused = check(host, boot, window, arrival);
  if (taken.refused) return taken;
  taken.gaps = note_number(boot, window.number);
  taken.lag = lag_of(boot, window, arrival);
  boot.last = arrival;
  taken.sent_until = std::max(arrival - taken.lag, since_);
  for (const NicWindow& told : window.nics) note_sent(boot, told);
  taken.stalls = stalls_of(host, window, taken.sent_until);
  for (const NicStall& stall : taken.stalls) note_stall(stall);
  settle_all(host, window);
  if (window.stalled) return taken;
  const bool is_newer = arrival / kLevels.front().length > now_ / kLevels.front().length;
  now_ = std::max(now_, arrival);
  if (is_newer) age();
  Bucket& bucket = bucket_at(taken.sent_until);
  const Nanoseconds from = taken.sent_until - std::clamp(window.length, Nanoseconds{}, kMaxLag);
  for (const NicWindow& told : window.nics) {
    if (told.dropped > 0) continue;
    const std::uint32_t nic = plan_->first_nic[host.value()] + told.nic;
    add(nic, told, bucket, from, taken.sent_until);
    taken.rows +=
        std::min<std::uint32_t>(told.count, static_cast<std::uint32_t>(plan_->nics[nic].streams.size()));
  }
  return taken;
}

template <class Wanted>
ScaleSums PathSums::gather(Nanoseconds to, Wanted wanted) const {
  ScaleSums sums{.from = to, .to = to, .sent = SentRanges(plan_->nics.size()), .lost = {}};
  std::unordered_map<std::uint32_t, RowLosses> lost;
  std::unordered_map<std::uint32_t, std::uint64_t> stalled;
  for (const Bucket& bucket : buckets_) {
    if (!wanted(bucket)) continue;
    sums.from = std::min(sums.from, bucket.from);
    sums.sent.add(bucket.sent);
    for (const auto& [row, losses] : bucket.lost) lost[row].add(losses);
    for (const auto& [row, sent] : bucket.stalled) stalled[row] += sent;
  }
  const auto row_of = [](const auto& one) { return one.first; };
  sums.lost.assign(lost.begin(), lost.end());
  std::ranges::sort(sums.lost, {}, row_of);
  sums.stalled.assign(stalled.begin(), stalled.end());
  std::ranges::sort(sums.stalled, {}, row_of);
  return sums;
}

ScaleSums PathSums::sum(Nanoseconds now, Nanoseconds span, Nanoseconds not_before) const {
  return gather(now,
                [&](const Bucket& bucket) { return bucket.end() > now - span && bucket.from >= not_before; });
}

ScaleSums PathSums::between(Nanoseconds from, Nanoseconds to) const {
  return gather(to, [&](const Bucket& bucket) { return bucket.from >= from && bucket.end() <= to; });
}

}  // namespace weft::watch
