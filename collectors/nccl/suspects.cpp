#include "collectors/nccl/suspects.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

namespace weft::nccl {
namespace {

constexpr std::size_t kMaxDead = 8;       // the ranks of a host; of more, not all died by themselves
constexpr double kMaxDeadShare = 0.125;   // of a job
constexpr double kMinStartedShare = 0.5;  // of those that entered, to speak of one that did not start
constexpr double kMinMajority = 0.5;      // of those that entered, to call the others wrong
constexpr std::size_t kMaxTold = 4;       // ranks that evidence tells one by one
constexpr std::uint64_t kFirst = 1;       // the number of a group's first collective

/// Operations whose ranks must send as many elements as all others; of the rest (all-to-all, gather, scatter,
/// lists) each rank may have a size of its own.
bool same_size_everywhere(std::string_view name) {
  constexpr auto kAlike = std::to_array<std::string_view>(
      {"nccl:all_reduce", "nccl:broadcast", "nccl:reduce", "nccl:_all_gather_base",
       "nccl:_reduce_scatter_base", "nccl:all_gather_into_tensor", "nccl:reduce_scatter_tensor",
       "nccl:all_reduce_barrier"});
  return std::ranges::count(kAlike, name) > 0;
}

/// What differs between two ranks' operations and must not; empty: nothing.
std::string difference(const Operation& a, const Operation& b) {
  if (a.name != b.name) return "operation";
  // A rank that scatters nothing has no input.
  if (!a.input_type.empty() && !b.input_type.empty() && a.input_type != b.input_type) return "data type";
  if (same_size_everywhere(a.name) && a.input_elements != b.input_elements) return "size";
  return {};
}

std::string at(const JobGroup& group, std::uint64_t collective) {
  return fmt::format("collective {} of {}", collective, group.title());
}
std::string at(const JobGroup& group) { return at(group, *group.hangs_at); }

/// Who called something else than the others as that collective.
std::optional<Suspicion> mismatch_at(const Job& job, const JobGroup& group, std::uint64_t collective) {
  struct Way {
    const Operation* operation;
    std::vector<Rank> ranks;
  };
  std::vector<Way> ways;
  std::size_t all = 0;
  for (const Member& member : group.members) {
    const FlightEntry* entry = member.has_dump ? job.find(group, member.rank, collective) : nullptr;
    if (entry == nullptr) continue;
    ++all;
    const Operation& operation = job.operation(member.rank, *entry);
    const auto same = std::ranges::find_if(
        ways, [&](const Way& way) { return difference(*way.operation, operation).empty(); });
    if (same == ways.end())
      ways.push_back({&operation, {member.rank}});
    else
      same->ranks.push_back(member.rank);
  }
  if (ways.size() < 2) return std::nullopt;
  std::ranges::stable_sort(ways, std::greater(), [](const Way& way) { return way.ranks.size(); });
  const bool majority = static_cast<double>(ways[0].ranks.size()) > kMinMajority * static_cast<double>(all);
  Suspicion made{.cause = HangCause::mismatch};
  for (std::size_t i = majority ? 1 : 0; i < ways.size(); ++i)
    made.ranks.insert(made.ranks.end(), ways[i].ranks.begin(), ways[i].ranks.end());
  std::ranges::sort(made.ranks);
  const Way& other = ways[1];
  const std::string what = difference(*ways[0].operation, *other.operation);
  const std::string theirs = to_string(*ways[0].operation);
  made.sentence = majority ? fmt::format("{} called {} as {}, {} of the others {}: another {}",
                                         job.names_of(other.ranks), to_string(*other.operation),
                                         at(group, collective), ways[0].ranks.size(), theirs, what)
                           : fmt::format("{} and {} disagree about {}: {} here, {} there",
                                         rank_list(ways[0].ranks), rank_list(other.ranks),
                                         at(group, collective), theirs, to_string(*other.operation));
  for (std::size_t i = 0; i < std::min(ways.size(), kMaxTold); ++i)
    made.evidence.push_back(fmt::format("{}: {}", rank_list(ways[i].ranks), to_string(*ways[i].operation)));
  const Rank usual = ways[0].ranks.front();
  if (const FlightEntry* next = job.find(group, usual, collective + 1);
      next != nullptr && difference(job.operation(usual, *next), *other.operation).empty())
    made.evidence.push_back(
        fmt::format("that is what the others call next: rank {} has left one out", other.ranks.front()));
  return made;
}

class GroupSuspects {
 public:
  GroupSuspects(const Job& job, const ProxyWaits& proxies, std::size_t index)
      : job_(&job), proxies_(&proxies), group_(&job.groups()[index]), index_(index) {}

  std::optional<Suspicion> find() {
    if (auto silent = silent_ranks(); silent || !why.empty()) return silent;
    if (auto wrong = mismatch_at(*job_, *group_, *group_->hangs_at)) return wrong;
    if (auto absent = never_entered()) return absent;
    return not_started();
  }
  std::string why;

 private:
  std::optional<Suspicion> silent_ranks() {
    for (const RasState state : {RasState::dead, RasState::unresponsive}) {
      std::vector<Rank> ranks;
      for (const Member& member : group_->members)
        if (job_->dump_of(member.rank) == nullptr && job_->ras_of(member.rank) == state)
          ranks.push_back(member.rank);
      if (ranks.empty()) continue;
      const auto most = static_cast<std::size_t>(kMaxDeadShare * static_cast<double>(job_->ranks().size()));
      if (ranks.size() > std::max(kMaxDead, most)) {
        why = fmt::format("{} ranks of {} do not answer RAS: which was the first is not known", ranks.size(),
                          job_->ranks().size());
        return std::nullopt;
      }
      const bool dead = state == RasState::dead;
      Suspicion made{.cause = dead ? HangCause::dead : HangCause::host, .ranks = ranks};
      made.sentence =
          dead ? fmt::format(
                     "{} {} dead: no dump, and RAS has not reached it for {} s; the others "
                     "wait in {}",
                     job_->names_of(ranks), ranks.size() == 1 ? "is" : "are", kRasDeadAfterS, at(*group_))
               : fmt::format(
                     "{} {} not answer RAS and left no dump: stopped, or its host hangs; "
                     "the others wait in {}",
                     job_->names_of(ranks), ranks.size() == 1 ? "does" : "do", at(*group_));
      for (std::size_t i = 0; i < std::min(ranks.size(), kMaxTold); ++i)
        made.evidence.push_back(fmt::format("RAS: {} {}", job_->name_of(ranks[i]),
                                            dead ? "is considered dead" : "is unresponsive"));
      return made;
    }
    return std::nullopt;
  }

  std::optional<Suspicion> never_entered() {
    std::vector<Rank> sure;
    std::vector<Rank> unsure;
    for (const Member& member : group_->members) {
      if (!member.has_dump || member.entered >= *group_->hangs_at) continue;
      if (!job_->blocked_elsewhere(index_, member.rank).empty()) continue;
      // A dump of nothing but what is under way is empty of a rank that completed all.
      const bool is_sure =
          member.entries > 0 || (*group_->hangs_at <= kFirst && !job_->dump_of(member.rank)->entries.empty());
      (is_sure || is_awaited(member.rank) ? sure : unsure).push_back(member.rank);
    }
    if (sure.empty()) {
      if (!unsure.empty())
        why = fmt::format("the dump of {} has nothing of {}: it may have completed all of it, or not entered",
                          rank_list(unsure), group_->title());
      return std::nullopt;
    }
    if (2 * sure.size() > group_->members.size()) {
      why = fmt::format(
          "{} of {} ranks have not entered {}: dumps of different moments, or of a job that moves",
          sure.size(), group_->members.size(), at(*group_));
      return std::nullopt;
    }
    Suspicion made{.cause = HangCause::never_entered, .ranks = sure};
    made.sentence = fmt::format("{} never entered {}, in which {} {}", job_->names_of(sure), at(*group_),
                                waiting(), waiting() == 1 ? "rank waits" : "ranks wait");
    for (std::size_t i = 0; i < std::min(sure.size(), kMaxTold); ++i)
      made.evidence.push_back(group_->find(sure[i])->entries == 0 && is_awaited(sure[i])
                                  ? why_awaited(sure[i])
                                  : fmt::format("{}: the last that it entered is {}, and it completed all",
                                                job_->name_of(sure[i]), group_->find(sure[i])->entered));
    return made;
  }

  /// Of those who wait in the collective, one that waits for the rank in this direction.
  std::optional<ProxyWait> wait_for(Rank rank, bool sends) const {
    for (const ProxyWait& wait : proxies_->for_rank(rank))
      if (const Member* member = group_->find(wait.rank);
          wait.sends == sends && member != nullptr && member->blocked == group_->hangs_at)
        return wait;
    return std::nullopt;
  }

  /// It waits for nothing, and others wait for it both ways: of one way alone a lost acknowledgement or a GPU
  /// that does not take what came may be the cause. A dump without entries says that nothing is under way
  /// where no dump has any that is completed.
  bool is_awaited(Rank rank) const {
    return proxies_->is_idle(rank) && wait_for(rank, true) && wait_for(rank, false) &&
           (!job_->dump_of(rank)->entries.empty() || !job_->has_completed_entries());
  }
  std::string why_awaited(Rank rank) const {
    return fmt::format("{}: neither its dump nor its proxies have anything under way; {}, {}",
                       job_->name_of(rank), to_string(*wait_for(rank, false)),
                       to_string(*wait_for(rank, true)));
  }

  std::optional<Suspicion> not_started() {
    std::size_t started = 0;
    std::size_t entered = 0;
    std::vector<Rank> late;
    for (const Member& member : group_->members) {
      if (member.entered < *group_->hangs_at || !member.has_dump) continue;
      const bool here = member.blocked == group_->hangs_at;
      if (here && member.entry->state == EntryState::scheduled && !knows_starts(member.rank)) continue;
      ++entered;
      if (here && member.entry->state == EntryState::scheduled && !is_held_up(member))
        late.push_back(member.rank);
      else
        ++started;
    }
    if (late.empty() || static_cast<double>(started) < kMinStartedShare * static_cast<double>(entered))
      return std::nullopt;
    Suspicion made{.cause = HangCause::host, .ranks = late};
    made.sentence = fmt::format(
        "{} entered {} and its GPU never started it: its host or GPU is stuck, and {} "
        "ranks wait",
        job_->names_of(late), at(*group_), started);
    for (std::size_t i = 0; i < std::min(late.size(), kMaxTold); ++i)
      made.evidence.push_back(fmt::format("{}: scheduled, not started", job_->name_of(late[i])));
    return made;
  }

  /// Without TORCH_NCCL_ENABLE_TIMING an entry is scheduled until it is completed.
  bool knows_starts(Rank rank) const {
    const FlightDump* dump = job_->dump_of(rank);
    return dump != nullptr && std::ranges::any_of(dump->entries, [](const FlightEntry& entry) {
             return entry.started > 0 || entry.state == EntryState::started;
           });
  }

  /// By something else that it queued before.
  bool is_held_up(const Member& member) const {
    return std::ranges::any_of(job_->blocked_elsewhere(index_, member.rank), [&](const Job::Elsewhere& one) {
      return one.entry->record < member.entry->record;
    });
  }

  std::size_t waiting() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        group_->members, [](const Member& member) { return member.blocked.has_value(); }));
  }

  const Job* job_;
  const ProxyWaits* proxies_;
  const JobGroup* group_;
  std::size_t index_;
};

/// The groups for which a group's members wait: those that have not entered it, or whose GPU has not.
std::set<std::size_t> waits_for(const Job& job, std::size_t index) {
  const JobGroup& group = job.groups()[index];
  std::set<std::size_t> others;
  for (const Member& member : group.members) {
    if (!member.has_dump) continue;
    const bool absent = member.entered < *group.hangs_at;
    const bool queued = member.blocked == group.hangs_at && member.entry->state == EntryState::scheduled;
    if (!absent && !queued) continue;
    for (const Job::Elsewhere& one : job.blocked_elsewhere(index, member.rank)) {
      if (one.group >= job.groups().size() || (!one.entry->is_p2p && one.group == index)) continue;
      // What was queued later does not hold it up.
      if (queued && one.entry->record > member.entry->record) continue;
      others.insert(one.entry->is_p2p ? job.groups().size() : one.group);
    }
  }
  return others;
}

Suspicion wrong_order(const Job& job, const std::map<std::size_t, std::set<std::size_t>>& waits) {
  std::vector<std::size_t> way;
  std::size_t here = waits.begin()->first;
  while (std::ranges::count(way, here) == 0 && waits.contains(here)) {
    way.push_back(here);
    here = *waits.at(here).begin();
  }
  way.erase(way.begin(), std::ranges::find(way, here));
  Suspicion made{.cause = HangCause::order};
  std::string circle;
  for (const std::size_t index : way) {
    const JobGroup& group = job.groups()[index];
    circle += (circle.empty() ? "" : ", ") + at(group);
    std::vector<Rank> absent;
    for (const Member& member : group.members)
      if (member.has_dump && member.entered < *group.hangs_at) absent.push_back(member.rank);
    if (made.evidence.size() < kMaxTold && !absent.empty())
      made.evidence.push_back(fmt::format("{}: {} not there yet", at(group), rank_list(absent)));
    made.ranks.insert(made.ranks.end(), absent.begin(), absent.end());
  }
  std::ranges::sort(made.ranks);
  made.ranks.erase(std::ranges::unique(made.ranks).begin(), made.ranks.end());
  made.sentence =
      fmt::format("ranks wait for each other in a circle: they call {} in different orders", circle);
  return made;
}

}  // namespace

Suspects find_suspects(const Job& job, const ProxyWaits& proxies) {
  Suspects found;
  const std::size_t transfers = job.groups().size();  // stands for all transfers between two ranks
  std::map<std::size_t, std::set<std::size_t>> waits;
  for (std::size_t i = 0; i < job.groups().size(); ++i)
    if (job.groups()[i].hangs_at) waits[i] = waits_for(job, i);
  const auto half = find_missing_half(job, proxies, found.transfers);
  // A group that waits for one that does not hang waits for a rank that is on its way.
  for (auto& [index, others] : waits)
    std::erase_if(others, [&](std::size_t other) { return other != transfers && !waits.contains(other); });
  bool any_root = false;
  for (const auto& [index, others] : waits) {
    if (!others.empty()) continue;
    any_root = true;
    GroupSuspects group(job, proxies, index);
    auto suspicion = group.find();
    const bool better = suspicion && (!found.suspicion || suspicion->cause == HangCause::dead);
    if (!found.group || better) {
      found.group = index;
      found.why = group.why;
      if (suspicion) found.suspicion = std::move(suspicion);
    }
  }
  if (!any_root && half) found.suspicion = half;
  if (!any_root && !half && !waits.empty() &&
      std::ranges::none_of(waits, [&](const auto& one) { return one.second.contains(transfers); })) {
    found.suspicion = wrong_order(job, waits);
  }
  if (!found.group && !waits.empty()) found.group = waits.begin()->first;
  if (waits.empty() && half) found.suspicion = half;
  return found;
}

std::optional<Suspicion> find_completed_mismatch(const Job& job) {
  std::map<std::tuple<std::string_view, std::string_view, std::uint64_t>, std::size_t> kinds;
  for (const JobGroup& group : job.groups()) {
    std::map<std::uint64_t, std::size_t> kind_of;  // by collective
    std::set<std::uint64_t> differing;
    for (const Member& member : group.members) {
      if (!member.has_dump) continue;
      std::map<const Operation*, std::size_t> known;  // operations of this dump
      job.each_entry(group, member.rank, [&](const FlightEntry& entry) {
        const Operation& operation = job.operation(member.rank, entry);
        auto [kind, is_new] = known.try_emplace(&operation, 0);
        if (is_new)
          kind->second =
              kinds
                  .try_emplace({operation.name, operation.input_type,
                                same_size_everywhere(operation.name) ? operation.input_elements : 0},
                               kinds.size())
                  .first->second;
        if (kind_of.try_emplace(entry.collective, kind->second).first->second != kind->second)
          differing.insert(entry.collective);
      });
    }
    for (const std::uint64_t collective : differing)
      if (auto wrong = mismatch_at(job, group, collective)) return wrong;
  }
  return std::nullopt;
}

}  // namespace weft::nccl
