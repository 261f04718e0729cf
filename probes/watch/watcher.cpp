#include "probes/watch/watcher.hpp"

#include <algorithm>
#include <utility>

#include "topology/model/fabric.hpp"

namespace weft::watch {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

/// Windows come each second: a host that told nothing for longer may be down, and for much longer is silent.
constexpr Nanoseconds kLate = milliseconds(1600);
constexpr Nanoseconds kSilent = seconds(3);
constexpr Nanoseconds kQuiet = seconds(2);  // of many at once
/// Most agents are silent for so long, and others are not: these hosts are down.
constexpr Nanoseconds kBusAway = seconds(30);
/// After the bus was away all agents are heard again: they connect within 3 s (KeptConnection).
constexpr Nanoseconds kAllBack = kSilent + seconds(3);
/// A second is counted once its windows are in: they are a second long, and late ones only make a look of the
/// next scale better.
constexpr Nanoseconds kComplete = milliseconds(1500);
/// Agents take over a plan within seconds; what was probed under the one before may be in a spool.
constexpr Nanoseconds kSwitchOver = minutes(2);
/// The keys of 3,072 hosts with 8 NICs are up to 190 MB of text: a tick tells them to a few. Agents go on to
/// the next epoch by themselves, and answer for the one before (kEpochOverlap) until all have heard of it.
constexpr int kRenewalsATick = 8;
/// Looks back to when an agent was away leave out its host: what is wrong there does not show at once.
constexpr Nanoseconds kRestless = minutes(1);
/// Of agents that were away in the span of a look: from so many on it looks back to when all are here again,
/// for without the rows of their hosts little would be left.
constexpr double kManyWereGone = 0.25;
constexpr Nanoseconds kAllHeard = seconds(3);  // of what was sent while an agent was away
/// What is lost within it of the first sign that routes moved was lost by what moved them.
constexpr Nanoseconds kSameMoment = seconds(1);
constexpr Nanoseconds kMaxHold = seconds(90);  // of a doubt: longer than mappings are apart
constexpr Nanoseconds kHeldFor = minutes(10);  // what was lost and named by nobody is no health so long
constexpr double kDoubtful = 0.85;             // below what opens an incident

}  // namespace

const std::vector<Scale>& scales() {
  // Each some four times the one before; looked at when a quarter of it or less is new.
  static const std::vector<Scale> all{{seconds(2), milliseconds(500)},
                                      {seconds(8), seconds(2)},
                                      {seconds(30), seconds(5)},
                                      {minutes(2), seconds(20)},
                                      {minutes(10), minutes(2)},
                                      {hours(1), minutes(10)},
                                      {hours(6), hours(1)},
                                      {hours(24), hours(4)}};
  return all;
}

Watcher::Era::Era(const Fabric& fabric, const WatcherOptions& options, StandingPlan its, PlanVersion number,
                  StandingEnds where, Nanoseconds now)
    : plan(std::move(its)),
      version(number),
      ends(std::move(where)),
      since(now),
      sums(plan, version, now),
      looker(fabric, plan, options.tolerance),
      routes(fabric, options.addresses, plan),
      looked(scales().size(), now),
      unexplained(scales().size(), false) {}

Watcher::Watcher(const Fabric& fabric, WatcherOptions options)
    : fabric_(&fabric),
      options_(options),
      agents_(fabric.node_count()),
      channels_(fabric.channel_count()),
      book_(fabric, options.book),
      keys_(options.secret, options.key_time) {
  for (std::uint32_t node = 0; node < agents_.size(); ++node) agents_[node].told.host = NodeId(node);
}

void Watcher::restore(std::span<const IncidentEvent> last, std::uint64_t last_id, Nanoseconds now) {
  book_.restore(last, last_id, now);
}

Watcher::Agent* Watcher::agent_of(std::string_view host) {
  const auto node = fabric_->find_node(host);
  return node && fabric_->is_host(*node) ? &agents_[node->value()] : nullptr;
}

void Watcher::learned(StandingPlan plan, PlanVersion version, StandingEnds ends, Nanoseconds now) {
  before_ = std::move(era_);
  are_paths_known_ = false;
  era_ = std::make_unique<Era>(*fabric_, options_, std::move(plan), version, std::move(ends), now);
  for (const StandingNic& nic : era_->plan.nics) agents_[nic.host.value()].wants_assignment = true;
  ++version_;
}

void Watcher::hello(std::string_view host, PlanVersion plan, RunId epoch, Nanoseconds now) {
  Agent* agent = agent_of(host);
  if (agent == nullptr) return;
  agent->returns |= agent->told.presence == AgentPresence::gone_planned;
  agent->told.presence = AgentPresence::present;
  agent->heard = now;
  agent->wants_assignment = !era_ || plan != era_->version || epoch != keys_.name();
  if (!era_ || era_->plan.nics_of(agent->told.host).empty()) map_again_ = true;
}

/// More than any agent keeps is not believed: sums of them stay numbers.
void Watcher::note_spool(std::string_view host, std::uint64_t waiting, std::uint64_t dropped) {
  constexpr std::uint64_t kMaxBelieved = 1'000'000'000;
  Agent* agent = agent_of(host);
  if (agent == nullptr) return;
  agent->told.spooled = std::min(waiting, kMaxBelieved);
  agent->told.dropped = std::min(dropped, kMaxBelieved);
}

/// An assignment that differs in them alone begins nothing anew.
void Watcher::pairs_are(const std::map<PortId, packet::UdPair>& pairs) {
  if (!era_) return;
  for (const auto& [nic, pair] : pairs) {
    const auto end = era_->ends.find(nic);
    if (end == era_->ends.end() || end->second.pair == pair) continue;
    end->second.pair = pair;
    for (const StandingNic& other : era_->plan.nics)
      for (const StandingStream& stream : other.streams) {
        if (stream.peer == nic) agents_[other.host.value()].wants_assignment = true;
        if (other.nic == nic) agents_[fabric_->port(stream.peer).node.value()].wants_assignment = true;
      }
  }
}

void Watcher::bye(std::string_view host, bool planned, Nanoseconds) {
  Agent* agent = agent_of(host);
  if (agent == nullptr) return;
  agent->told.presence = planned ? AgentPresence::gone_planned : AgentPresence::silent;
}

Taken Watcher::take(std::string_view host, const Window& window, Nanoseconds arrival) {
  Agent* agent = agent_of(host);
  if (agent == nullptr) return {.refused = Refusal::impossible};
  Era* era = era_ && window.plan == era_->version         ? era_.get()
             : before_ && window.plan == before_->version ? before_.get()
                                                          : nullptr;
  const Taken taken =
      era ? era->sums.take(agent->told.host, window, arrival) : Taken{.refused = Refusal::other_plan};
  if (taken.refused == Refusal::repeat) return taken;
  if (taken.refused == Refusal::other_plan) {
    // One that works a plan of long ago missed the assignment, or told this before it came: no offence.
    agent->wants_assignment = era_ != nullptr;
    if (era_ && window.plan > era_->version) ++agent->told.refused;
    return taken;
  }
  if (taken.refused) {
    ++agent->told.refused;
    return taken;
  }
  // What it told before it went may come after it said so.
  const bool is_of_before = agent->told.presence == AgentPresence::gone_planned || agent->returns;
  if (!is_of_before || agent->boot != window.boot) {
    agent->told.presence = AgentPresence::present;
    agent->returns = false;
  }
  // Between two lives of an agent nobody answers for its host: no cable is at fault.
  if (agent->boot.value_or(window.boot) != window.boot) agent->gone = agent->restarted = arrival;
  agent->boot = window.boot;
  agent->told.lag = taken.lag;
  agent->told.plan = window.plan;
  const auto dropped = [](const NicWindow& told) { return told.dropped > 0; };
  agent->told.stalled += window.stalled || std::ranges::any_of(window.nics, dropped) ? 1 : 0;
  agent->told.windows += 1;
  agent->told.gaps += static_cast<std::uint64_t>(taken.gaps);
  agent->heard = arrival;
  agent->sent_until = std::max(agent->sent_until.value_or(taken.sent_until), taken.sent_until);
  ++windows_, path_windows_ += taken.rows;
  // Probes of both plans go to its NICs while another is taken up.
  if (Era* const other = era == era_.get() ? before_.get() : era_.get(); other != nullptr)
    for (const NicStall& stall : taken.stalls) other->sums.note_stall(stall);
  if (era == era_.get()) check_routes(agent->told.host, window, taken.sent_until);
  return taken;
}

void Watcher::check_routes(NodeId host, const Window& window, Nanoseconds until) {
  const auto nics = era_->plan.nics_of(host);
  if (!routes_.believes(host, until)) return;
  for (const NicWindow& told : window.nics)
    for (const TracedHop& hop : told.traced) {
      const auto moved = era_->routes.take(nics[told.nic].first_row + hop.stream, hop.from);
      if (moved) routes_.claim(host, *moved, until);
    }
  if (!routes_.since() || era_->doubted_since) return;
  era_->doubted_since = until;
  book_.paths_doubted();
}

void Watcher::paths_known(Nanoseconds since) {
  book_.paths_known(since);
  are_paths_known_ = true;
  if (!era_) return;
  routes_.settle(since, era_->routes);
  era_->routes.forget_moved();
  if (era_->doubted_since) era_->trusted_from = since;
  era_->doubted_since = routes_.since();
}

/// What begins to be lost while a plan is in doubt is sure of no place by that plan, unless the book knows it
/// from before: where it goes on it shows in what is sent afterwards.
bool Watcher::is_doubtful(const Era& era, const LookFinding& finding, Nanoseconds now) const {
  if (!era.doubted_since) return false;
  if (&era == era_.get() && now - *era.doubted_since > kMaxHold) return false;
  if (finding.cause == Cause::down && finding.since == Nanoseconds{}) return false;  // a host: by no path
  const Nanoseconds moved = *era.doubted_since + kSameMoment;
  if (finding.since > Nanoseconds{} && finding.since <= moved) return false;
  return !book_.knows(finding, moved);
}

void Watcher::refuse(std::string_view host) {
  if (Agent* agent = agent_of(host)) ++agent->told.refused;
}

/// When most agents fall silent at once it is the bus, unless that lasts while others are heard.
void Watcher::note_presence(Nanoseconds now) {
  std::size_t heard = 0, quiet = 0;
  is_restless_ = false;
  for (Agent& agent : agents_) {
    is_restless_ = is_restless_ || (agent.restarted && now - *agent.restarted < kRestless);
    if (agent.told.presence == AgentPresence::gone_planned || agent.returns) agent.gone = now;
    if (agent.told.presence == AgentPresence::present && now - agent.heard.value_or(now) > kSilent)
      agent.told.presence = AgentPresence::silent, agent.returns = false;
    const bool is_known =
        agent.told.presence == AgentPresence::present || agent.told.presence == AgentPresence::silent;
    if (is_known) ++(now - agent.heard.value_or(now) > kQuiet ? quiet : heard);
  }
  if (quiet <= heard) return most_quiet_since_.reset();
  if (!most_quiet_since_) most_quiet_since_ = now;
  if (heard == 0 || now - *most_quiet_since_ < kBusAway) bus_away_ = now;
}

std::vector<HostNews> Watcher::news(Nanoseconds now) const {
  std::vector<HostNews> all;
  for (const Agent& agent : agents_) {
    const auto presence = agent.told.presence;
    if (presence == AgentPresence::gone_planned || presence == AgentPresence::never_seen)
      all.push_back(HostNews::gone);
    else if (presence == AgentPresence::silent)
      all.push_back(now - bus_away_ < kAllBack ? HostNews::late : HostNews::silent);
    else
      all.push_back(now - agent.sent_until.value_or(Nanoseconds{}) > kLate ? HostNews::late
                                                                           : HostNews::heard);
  }
  return all;
}

std::vector<Nanoseconds> Watcher::told_until() const {
  std::vector<Nanoseconds> all;
  for (const Agent& agent : agents_) all.push_back(agent.sent_until.value_or(Nanoseconds{}));
  return all;
}

void Watcher::count_seconds(Nanoseconds now, Nanoseconds wall) {
  const Nanoseconds second = seconds(1);
  const Nanoseconds complete = now - kComplete;
  if (!counted_until_) counted_until_ = era_->since - era_->since % second;
  // After a standstill of the watcher itself only the last minute matters.
  counted_until_ = std::max(*counted_until_, complete - complete % second - minutes(1));
  while (*counted_until_ + second <= complete) {
    std::vector<PlanSecond> plans;
    channels_.next_second();
    for (Era* const era : {era_.get(), before_.get()}) {
      if (era == nullptr) continue;
      channels_.add_excused(era->plan, era->sums.take_excused());
      plans.push_back(
          {&era->plan, &era->looker, era->sums.between(*counted_until_, *counted_until_ + second)});
      channels_.add(era->plan, plans.back().sums);
    }
    std::vector<bool> told;
    for (const Agent& agent : agents_)
      told.push_back(agent.sent_until.value_or(Nanoseconds{}) >= *counted_until_ + second &&
                     !is_hidden(agent.told.host));
    // By a plan in doubt nothing recovers, and nothing comes back.
    if (!era_->doubted_since || *counted_until_ + second <= *era_->doubted_since)
      book_.cross([&](const auto& mine, auto all) { return crossed(*fabric_, plans, told, mine, all); },
                  *counted_until_, {now, wall});
    *counted_until_ += second;
    ++version_;
  }
}

bool Watcher::is_hidden(NodeId host) const {
  const auto at = fabric_->channels_at(host);
  return std::ranges::any_of(at, [&](ChannelId c) { return channels_.minute()[c.value()].is_hidden(); });
}

/// What a look back to `from` leaves out: also hosts whose agent was gone in it, as it had said or between
/// two lives, or that were unreachable, whatever they are called by now.
std::vector<ChannelId> Watcher::told_of(Nanoseconds from, bool unreachable_too) const {
  std::vector<ChannelId> channels = book_.told_of(from);
  const auto was_in = [&](const std::optional<Nanoseconds>& time) { return time && *time >= from; };
  for (const Agent& agent : agents_)
    if (was_in(agent.gone) || (unreachable_too && was_in(agent.unreachable)))
      std::ranges::copy(fabric_->channels_at(agent.told.host), std::back_inserter(channels));
  return channels;
}

/// When the last of many agents that were away since `from` was back; absent: not many were.
std::optional<Nanoseconds> Watcher::most_back_since(Nanoseconds from) const {
  std::optional<Nanoseconds> back;
  std::size_t gone = 0, known = 0;
  for (const Agent& agent : agents_) {
    known += agent.told.presence != AgentPresence::never_seen ? 1 : 0;
    if (!agent.gone || *agent.gone < from) continue;
    ++gone;
    back = std::max(back.value_or(*agent.gone), *agent.gone);
  }
  return static_cast<double>(gone) > kManyWereGone * static_cast<double>(known) ? back : std::nullopt;
}

void Watcher::look(Era& era, Nanoseconds now, Nanoseconds wall) {
  const auto hosts = news(now);
  constexpr std::size_t kOfDelays = 2;  // agents tell them each ten seconds
  for (std::size_t i = 0; i < scales().size(); ++i) {
    const Scale& scale = scales()[i];
    const Nanoseconds since = now - era.looked[i];
    // A scale that the plan is too young for sees what the one before it sees.
    // Many faults at once take the longer, and nobody waits for the next of them so eagerly.
    if (since < scale.every * (era.looker.many() ? 4 : 1) ||
        (i > 0 && now - std::max(era.since, era.trusted_from) < scales()[i - 1].span))
      continue;
    era.looked[i] = now;
    ScaleSums sums = era.sums.sum(now, scale.span, era.trusted_from);
    if (const auto back = i > 0 ? most_back_since(sums.from) : std::nullopt;
        back && now - *back > scales()[i - 1].span + kAllHeard)
      sums = era.sums.sum(now, scale.span, std::max(*back + kAllHeard, era.trusted_from));
    // The shortest look finds out what is unreachable now.
    const auto left_out = era.looker.leave_out(told_of(sums.from, i > 0), sums);
    const bool of_delays = i == kOfDelays;
    if (sums.lost.empty() && !of_delays) {
      era.unexplained[i] = false;
      continue;
    }
    LookAnswer answer =
        era.looker.look(sums, scale.every, {hosts, told_until(), left_out}, of_delays ? &era.sums : nullptr);
    if (i == 0)
      for (const NodeId host : answer.unreachable) agents_[host.value()].unreachable = now;
    era.unexplained[i] = answer.everywhere || !answer.disbelieved.empty() ||
                         answer.account.lost.unexplained > 0 ||
                         std::ranges::any_of(answer.findings, &LookFinding::early);
    for (LookFinding& finding : answer.findings) {
      if (!is_doubtful(era, finding, now)) continue;
      finding.sure = false, finding.held = true;
      finding.confidence = std::min(finding.confidence, kDoubtful);
      held_ = now;
    }
    book_.see(answer.findings, sums.from, {now, wall});
    if (of_delays) book_.see_in_time(answer.findings, sums.from);
  }
}

void Watcher::assign(WatchActions& actions, Nanoseconds now) {
  if (!era_) return;
  if (keys_.renew(now))
    for (const StandingNic& nic : era_->plan.nics) agents_[nic.host.value()].wants_keys = true;
  int renewals = 0;
  for (Agent& agent : agents_) {
    if (agent.told.presence == AgentPresence::gone_planned) continue;
    if (!agent.wants_assignment && (!agent.wants_keys || renewals++ >= kRenewalsATick)) continue;
    agent.wants_assignment = agent.wants_keys = false;
    const NodeId host = agent.told.host;
    if (era_->plan.nics_of(host).empty()) continue;
    actions.assignments.emplace_back(
        fabric_->name_of(host),
        assignment_of(*fabric_, era_->plan, host, era_->version, era_->ends, keys_, now));
    era_->routes.add_to(actions.assignments.back().second, host);
  }
}

WatchActions Watcher::tick(Nanoseconds now, Nanoseconds wall) {
  WatchActions actions;
  note_presence(now);
  was_held_ = held_ && now - *held_ < kHeldFor;
  if (era_) {
    if (before_ && now - era_->since > kSwitchOver) before_.reset();
    count_seconds(now, wall);
    if (before_) look(*before_, now, wall);
    look(*era_, now, wall);
  }
  assign(actions, now);
  actions.events = book_.take_events();
  version_ += actions.events.empty() ? 0 : 1;
  actions.map_again = std::exchange(map_again_, false) || book_.awaits_paths() || routes_.wants_paths(now);
  actions.moved = routes_.news();
  actions.ignores_traces = routes_.gave_up();
  return actions;
}

}  // namespace weft::watch
