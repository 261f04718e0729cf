#include "probes/watch/incident_book.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "topology/model/fabric.hpp"

namespace weft::watch {
namespace {

constexpr double kOver = 6.9;         // nats, a thousand to one: what was at fault is clean
constexpr double kSurelyOver = 13.8;  // a million to one: it may be closed
constexpr double kBackground = 1e-4;  // what a healthy path is taken to lose (Tolerance)
constexpr double kMinLoss = 3e-4;     // a fault is told from that by no fewer losses
/// What passed nothing passes some: so long a look must say.
constexpr Nanoseconds kSettled = std::chrono::seconds(30);
/// A look at what began so long ago saw enough of it to tell its place.
constexpr Nanoseconds kSettlesIn = std::chrono::seconds(3);
constexpr Nanoseconds kAllSettleIn = std::chrono::seconds(5);  // of those of one switch
constexpr int kAgreeing = 2;  // looks, one after the other: of what began later than that
constexpr Nanoseconds kJustNow = std::chrono::seconds(1);
constexpr double kAtMostBad = 3.0;  // nats that a loss just now speaks against the next clean probes
constexpr Nanoseconds kMaxHold = std::chrono::minutes(30);
constexpr Nanoseconds kRemembered = std::chrono::hours(25);  // closed ones, for looks that still see them

/// The share that it loses, for what clean probes say; `seen`: of all that crossed it.
double loss_of(const Incident& incident, double seen) {
  if (incident.cause != Cause::loss && incident.cause != Cause::corruption) return 1.0;
  const double told = incident.estimate ? incident.estimate->value : 0.0;
  return std::clamp(told > 0 ? told : seen, kMinLoss, 1.0);
}

bool is_weaker(const Incident& known, const LookFinding& finding) {
  return known.estimate && finding.estimate && finding.estimate->value < known.estimate->value;
}

/// Reported of no more than before by what differs by chance.
bool is_another_estimate(const std::optional<Estimate>& before, const std::optional<Estimate>& after) {
  if (before.has_value() != after.has_value()) return true;
  return before && (after->low > 2 * before->high || 2 * after->high < before->low);
}

}  // namespace

void IncidentBook::restore(std::span<const IncidentEvent> last, std::uint64_t last_id, Nanoseconds now) {
  next_id_ = std::max(next_id_, last_id + 1);
  for (const IncidentEvent& event : last) {
    next_id_ = std::max(next_id_, event.incident.id.value() + 1);
    Entry entry{.incident = event.incident, .events = event.number + 1, .seen = now, .recovering = now};
    if (!entry.is_over()) entries_.push_back(std::move(entry));
  }
  std::ranges::sort(entries_, {}, [](const Entry& entry) { return entry.incident.id; });
}

bool IncidentBook::touches(const IncidentPlace& place, NodeId node) const {
  if (std::ranges::find(place.nodes, node) != place.nodes.end()) return true;
  return std::ranges::any_of(all_channels(place), [&](ChannelId channel) {
    return fabric_->source_node(channel) == node || fabric_->target_node(channel) == node;
  });
}

/// Channels of both are at one switch, and no node is named yet.
bool IncidentBook::share_a_switch(const IncidentPlace& a, const IncidentPlace& b) const {
  if (!a.nodes.empty() || !b.nodes.empty()) return false;
  return std::ranges::any_of(a.channels, [&](ChannelId channel) {
    const NodeId ends[] = {fabric_->source_node(channel), fabric_->target_node(channel)};
    return std::ranges::any_of(ends, [&](NodeId end) {
      return !fabric_->is_host(end) && !b.channels.empty() && touches({b.channels, {}}, end);
    });
  });
}

bool IncidentBook::is_about(const Entry& entry, const LookFinding& finding) const {
  const IncidentPlace& a = entry.incident.place;
  const IncidentPlace& b = finding.place;
  if (overlaps(all_channels(a), all_channels(b))) return true;
  return std::ranges::any_of(a.nodes, [&](NodeId node) { return touches(b, node); }) ||
         std::ranges::any_of(b.nodes, [&](NodeId node) { return touches(a, node); });
}

/// The incident that a finding is about: one that goes on before one that is over, which still shows in a
/// look at a time before its end.
IncidentBook::Entry* IncidentBook::find(const LookFinding& finding, Nanoseconds from) {
  for (const bool over : {false, true})
    for (Entry& entry : entries_)
      if (entry.is_over() == over && is_about(entry, finding) && (!over || from < entry.closed))
        return &entry;
  return nullptr;
}

bool IncidentBook::knows(const LookFinding& finding, Nanoseconds by) const {
  return std::ranges::any_of(entries_, [&](const Entry& entry) {
    return !entry.is_over() && !entry.held && entry.began <= by && is_about(entry, finding);
  });
}

std::optional<std::string> IncidentBook::muted(const Incident& incident, Nanoseconds wall) const {
  const Mute* mute = muting(*fabric_, mutes_, incident.place, wall);
  if (mute != nullptr) return mute->reason;
  return std::nullopt;
}

void IncidentBook::note(Entry& entry, IncidentChange change, Nanoseconds wall) {
  entry.incident.muted_by = muted(entry.incident, wall);
  events_.push_back({entry.events++, wall, change, entry.incident});
}

void IncidentBook::begin(const LookFinding& finding, Nanoseconds from, Times times, bool is_beside) {
  Entry entry{.began = std::max(from, finding.since),
              .span = times.now - from,
              .seen = times.now,
              .held = finding.held};
  entry.incident = {.id = IncidentId(next_id_++),
                    .place = finding.place,
                    .cause = finding.cause,
                    .verdict = finding.verdict,
                    .estimate = finding.estimate,
                    .confidence = finding.confidence,
                    .evidence = finding.evidence,
                    .first_seen = times.wall,
                    .last_seen = times.wall};
  entries_.push_back(std::move(entry));
  note(entries_.back(), IncidentChange::suspected, times.wall);
  update(entries_.back(), finding, from, times, is_beside);
}

/// Whether what a look says of place, cause and estimate is better than what is known: of a suspicion if it
/// is surer; of an opened incident if the look saw as much as the one that told these, and nothing but the
/// time in which it lasts. What moved once moves on by a look twice as long, and loses less only by one that
/// sees much more than its end. That nothing passes is always news.
bool IncidentBook::take_over(const Entry& entry, const LookFinding& finding, Nanoseconds from,
                             Times times) const {
  const Incident& known = entry.incident;
  const Nanoseconds span = times.now - from;
  const bool same = is_same(finding.place, known.place);
  // Near the loss that parts degraded from failed the verdict of a look is chance.
  if (same && finding.cause == known.cause && !is_another_estimate(known.estimate, finding.estimate) &&
      (finding.verdict <= known.verdict || known.estimate || span < 2 * entry.span))
    return false;
  if (known.state == IncidentState::suspected) return finding.sure || finding.confidence > known.confidence;
  if (!finding.sure) return false;
  if (finding.cause == Cause::down && known.cause == Cause::loss && (same || !entry.moved)) return true;
  if (from < entry.began) return false;
  if (known.cause == Cause::down && finding.cause == Cause::loss)
    return from >= entry.down && span >= kSettled;
  if (from < entry.seen && times.now - entry.seen > std::max<Nanoseconds>(entry.shows_in / 2, kJustNow))
    return false;  // it may be over
  if (same) return span >= (is_weaker(known, finding) ? 4 * entry.shows_in : entry.span);
  if (!all_channels(known.place).empty() && !all_channels(finding.place).empty() &&
      !overlaps(all_channels(known.place), all_channels(finding.place)))
    return false;
  if (!finding.place.alternatives.empty() && known.place.alternatives.empty()) return false;  // it knew more
  if (finding.place.nodes.empty() != known.place.nodes.empty() && span < kSettled &&
      (finding.cause != Cause::down || finding.place.nodes.empty()))
    return false;
  return span >= entry.span * (entry.moved ? 2 : 1);
}

/// `is_beside`: the look found several at one switch, which may be what is at fault.
void IncidentBook::update(Entry& entry, const LookFinding& finding, Nanoseconds from, Times times,
                          bool is_beside) {
  Incident& incident = entry.incident;
  const Nanoseconds span = times.now - from;
  const bool changed = take_over(entry, finding, from, times);
  const bool same = is_same(finding.place, incident.place);
  if (changed) {
    entry.moved |= !same && incident.opened.has_value();
    incident.place = finding.place, incident.cause = finding.cause, incident.verdict = finding.verdict;
    incident.estimate = finding.estimate;
    incident.evidence = finding.evidence, incident.confidence = finding.confidence;
    entry.span = span;
  } else {
    incident.confidence = std::max(incident.confidence, finding.confidence);
  }
  saw(entry, finding, span, times);
  entry.held = entry.held && finding.held;
  // Of what began just now a look sees a part: the next one must say the same.
  if (!same || !finding.sure)
    entry.agreeing = 0;
  else if (times.now > std::exchange(entry.agreed, times.now))
    ++entry.agreeing;
  const Nanoseconds age = times.now - finding.since;
  const bool is_settled = is_beside ? age >= kAllSettleIn : entry.agreeing >= kAgreeing || age >= kSettlesIn;
  if (incident.state == IncidentState::suspected && finding.sure && is_settled) {
    incident.state = IncidentState::open;
    incident.opened = times.wall;
    note(entry, IncidentChange::opened, times.wall);
  } else if (changed) {
    note(entry, IncidentChange::changed, times.wall);
  }
  if (changed && !incident.place.nodes.empty()) fold(entry, times);
}

/// A look further back than needed still sees it when it is over, unless all that it looks at came after
/// that.
void IncidentBook::saw(Entry& entry, const LookFinding& finding, Nanoseconds span, Times times) {
  entry.shows_in = std::min(entry.shows_in, span);
  if (span > entry.shows_in && times.now - span < entry.seen) return;
  entry.share = finding.share;
  if (finding.cause == Cause::down) entry.down = times.now;
  if (times.now > entry.seen) entry.incident.bad += std::min(times.now - entry.seen, span);
  entry.seen = times.now;
  entry.incident.last_seen = std::max(entry.incident.last_seen, times.wall);
}

/// What a switch or host explains is part of its incident.
void IncidentBook::fold(Entry& into, Times times) {
  for (Entry& entry : entries_) {
    if (&entry == &into || entry.is_over()) continue;
    const bool is_part = std::ranges::any_of(
        into.incident.place.nodes, [&](NodeId node) { return touches(entry.incident.place, node); });
    if (!is_part) continue;
    entry.incident.evidence.push_back(fmt::format("part of incident {}", into.incident.id.value()));
    into.incident.first_seen = std::min(into.incident.first_seen, entry.incident.first_seen);
    end(entry, times);
  }
}

void IncidentBook::end(Entry& entry, Times times) {
  const bool was_open = entry.incident.opened.has_value();
  entry.incident.state = was_open ? IncidentState::closed : IncidentState::dismissed;
  entry.incident.closed = times.wall;
  entry.closed = times.now;
  note(entry, was_open ? IncidentChange::closed : IncidentChange::dismissed, times.wall);
}

void IncidentBook::come_back(Entry& entry, Nanoseconds since, Times times) {
  entry.began = since;
  entry.incident.state = IncidentState::open;
  ++entry.incident.flaps;
  entry.clean = entry.again = 0;
  entry.seen = times.now;
  note(entry, IncidentChange::came_back, times.wall);
}

/// A switch first: its cables are then part of it. Then what says of an incident what is known, then what
/// takes most channels to explain it.
std::vector<const LookFinding*> IncidentBook::in_order(const std::vector<LookFinding>& findings) const {
  const auto is_known = [&](const LookFinding& finding) {
    return std::ranges::any_of(entries_, [&](const Entry& entry) {
      return !entry.is_over() && entry.incident.cause == finding.cause &&
             is_same(entry.incident.place, finding.place);
    });
  };
  const auto rank = [&](const LookFinding* finding) {
    const auto& sets = finding->place.alternatives;
    return std::tuple(!finding->place.nodes.empty(), is_known(*finding),
                      sets.empty() ? 0 : sets.front().size());
  };
  std::vector<const LookFinding*> order;
  for (const LookFinding& finding : findings) order.push_back(&finding);
  std::ranges::stable_sort(order, std::ranges::greater(), rank);
  return order;
}

void IncidentBook::see(const std::vector<LookFinding>& findings, Nanoseconds from, Times times) {
  std::set<IncidentId> seen;  // a look tells of an incident once
  const auto beside = [&](const LookFinding& finding) {
    return std::ranges::any_of(findings, [&](const LookFinding& other) {
      return &other != &finding && other.sure && share_a_switch(finding.place, other.place);
    });
  };
  for (const LookFinding* finding : in_order(findings)) {
    Entry* entry = find(*finding, from);
    if (entry == nullptr && finding->early) continue;
    if (entry == nullptr) {
      begin(*finding, from, times, beside(*finding));
      seen.insert(entries_.back().incident.id);
      if (!finding->place.nodes.empty()) fold(entries_.back(), times);
      continue;
    }
    if (entry->is_over() || !seen.insert(entry->incident.id).second) continue;
    if (entry->incident.state == IncidentState::recovering) {
      if (from < entry->seen || from < entry->recovering || !finding->sure)
        continue;  // it may still see what was before
      come_back(*entry, std::max(from, finding->since), times);
    }
    update(*entry, *finding, from, times, beside(*finding));
  }
}

std::vector<ChannelId> IncidentBook::told_of(Nanoseconds from) const {
  std::vector<ChannelId> channels;
  for (const Entry& entry : entries_) {
    if (!entry.incident.opened || (from >= entry.began && from >= entry.recovering)) continue;
    std::ranges::copy(channels_at(*fabric_, entry.incident.place), std::back_inserter(channels));
  }
  std::ranges::sort(channels);
  channels.erase(std::ranges::unique(channels).begin(), channels.end());
  return channels;
}

void IncidentBook::see_in_time(const std::vector<LookFinding>& findings, Nanoseconds from) {
  constexpr double kOfALook = 3.5;  // nats: a look at delays finds what is there far more often than not
  for (Entry& entry : entries_) {
    if (entry.is_over() || entry.incident.cause != Cause::delay || from < entry.seen) continue;
    const auto names = [&](const LookFinding& finding) { return is_about(entry, finding); };
    if (std::ranges::none_of(findings, names)) entry.clean -= kOfALook;
  }
}

void IncidentBook::weigh(Entry& entry, const Crossed& crossed, Times times) {
  if (entry.incident.cause != Cause::delay) {
    // Wald's sequential test of the loss that was found against a healthy path's.
    const double loss = loss_of(entry.incident, entry.share);
    const double step = static_cast<double>(crossed.lost) * std::log(loss / kBackground) + crossed.beside -
                        static_cast<double>(crossed.passed) * (loss - kBackground);
    entry.clean = std::min(entry.clean + step, kAtMostBad);
    entry.again = std::max(entry.again + step, 0.0);
  }
  if (entry.incident.state == IncidentState::recovering) {
    if (entry.again >= kOver) return come_back(entry, times.now, times);
    const auto longer = std::min<std::uint32_t>(entry.incident.flaps, 10);
    const Nanoseconds hold =
        std::min<Nanoseconds>(options_.hold * (1U << longer), std::max(kMaxHold, options_.hold));
    if (entry.clean <= -kSurelyOver && times.now - entry.recovering >= hold && may_close(entry))
      end(entry, times);
    return;
  }
  if (entry.clean > -kOver) return;
  if (entry.incident.state == IncidentState::suspected) {
    if (entry.clean <= -kSurelyOver && times.now - entry.seen >= options_.hold) end(entry, times);
    return;
  }
  entry.incident.state = IncidentState::recovering;
  entry.recovering = times.now;
  entry.is_verified = false;
  entry.again = 0;
  note(entry, IncidentChange::recovering, times.wall);
}

/// A host alone is at no path.
bool IncidentBook::may_close(const Entry& entry) const {
  return !options_.verify_paths || entry.is_verified || all_channels(entry.incident.place).empty();
}

void IncidentBook::paths_doubted() {
  for (Entry& entry : entries_) entry.is_verified = false;
}

void IncidentBook::paths_known(Nanoseconds since) {
  for (Entry& entry : entries_) {
    if (entry.incident.state != IncidentState::recovering || entry.is_verified || since < entry.recovering)
      continue;
    entry.is_verified = true;
    entry.clean = 0;
  }
}

bool IncidentBook::awaits_paths() const {
  return std::ranges::any_of(entries_, [&](const Entry& entry) {
    return entry.incident.state == IncidentState::recovering && !may_close(entry);
  });
}

void IncidentBook::cross(const CrossedOf& crossed, Nanoseconds second, Times times) {
  std::vector<WatchedIncident> watched;
  for (const Entry& entry : entries_)
    if (!entry.is_over())
      watched.push_back({&entry.incident,
                         entry.incident.cause == Cause::delay ? 0.0 : loss_of(entry.incident, entry.share)});
  auto its = watched.begin();
  for (Entry& entry : entries_) {
    if (entry.is_over()) continue;
    const WatchedIncident& mine = *its++;
    if (entry.incident.muted_by != muted(entry.incident, times.wall))
      note(entry, IncidentChange::changed, times.wall);
    // What was sent before it was seen last, or seemed to end, says nothing new.
    const bool recovers = entry.incident.state == IncidentState::recovering;
    if (second >= (recovers ? entry.recovering : entry.seen)) weigh(entry, crossed(mine, watched), times);
  }
  forget(times.now);
}

void IncidentBook::forget(Nanoseconds now) {
  std::erase_if(entries_,
                [&](const Entry& entry) { return entry.is_over() && entry.closed + kRemembered < now; });
}

std::vector<Incident> IncidentBook::current() const {
  std::vector<Incident> all;
  for (const Entry& entry : entries_)
    if (!entry.is_over()) all.push_back(entry.incident);
  std::ranges::stable_sort(all, std::ranges::greater(), [](const Incident& incident) {
    return std::pair(incident.state != IncidentState::suspected, incident.verdict);
  });
  return all;
}

std::vector<IncidentEvent> IncidentBook::take_events() { return std::exchange(events_, {}); }

}  // namespace weft::watch
