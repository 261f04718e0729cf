#include "collectors/nccl/job.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weft::nccl {
namespace {

// Of the dumps that tell of a group whose members are told in two ways, those that must agree to be believed:
// one rank in four may be wrong.
constexpr double kAgreement = 0.75;

Member* member_of(JobGroup& group, Rank rank) {
  const auto found = std::ranges::lower_bound(group.members, rank, {}, &Member::rank);
  return found != group.members.end() && found->rank == rank ? &*found : nullptr;
}

bool overlap(const std::vector<Rank>& a, const std::vector<Rank>& b) {
  std::vector<Rank> both;
  std::ranges::set_intersection(a, b, std::back_inserter(both));
  return !both.empty();
}

/// All ranks of the communicator are in both answers, and each has launched more by the later one.
bool went_on(const RasCommunicator& before, const RasReport& later) {
  const auto after = std::ranges::find_if(later.communicators, [&](const RasCommunicator& one) {
    return !one.hash.empty() && one.hash == before.hash && one.size == before.size;
  });
  if (after == later.communicators.end() || before.ranks.size() != before.size) return false;
  return std::ranges::all_of(before.ranks, [&](const RasRank& rank) {
    const auto again = std::ranges::find(after->ranks, rank.rank, &RasRank::rank);
    return again != after->ranks.end() && rank.launched && again->launched &&
           *again->launched > *rank.launched;
  });
}

}  // namespace

const Member* JobGroup::find(Rank rank) const {
  const auto found = std::ranges::lower_bound(members, rank, {}, &Member::rank);
  return found != members.end() && found->rank == rank ? &*found : nullptr;
}

std::string JobGroup::title() const {
  return description.empty() || description == "undefined" ? "group " + name
                                                           : fmt::format("group {} ({})", name, description);
}

Job::Job(const HangInput& input) {
  take_dumps(input);
  take_groups();
  take_entries();
  if (input.ras) take_ras(*input.ras, input.ras_later);
  take_places(input);
}

void Job::take_dumps(const HangInput& input) {
  std::set<Rank> twice;
  for (const RankDump& one : input.dumps) {
    ranks_.insert(one.rank);
    if (!read_.try_emplace(one.rank, Read{.dump = &one.dump}).second) twice.insert(one.rank);
    for (const std::string& remark : one.dump.remarks)
      if (remarks_.size() < 8) remarks_.push_back(fmt::format("rank {}: {}", one.rank, remark));
  }
  for (const LostDump& lost : input.lost) {
    if (lost.rank) ranks_.insert(*lost.rank);
    if (lost.rank && read_.contains(*lost.rank)) twice.insert(*lost.rank);
  }
  // Which of two dumps is of this run nobody can tell.
  for (const Rank rank : twice) read_.erase(rank);
  if (!twice.empty())
    remarks_.push_back(fmt::format("{}: more than one dump, so none is used",
                                   rank_list(std::vector<Rank>(twice.begin(), twice.end()))));
}

void Job::take_groups() {
  std::map<std::string, std::map<std::vector<Rank>, std::vector<Rank>>> told;  // by name, members: by whom
  for (auto& [rank, read] : read_) {
    read.group.resize(read.dump->groups.size());
    for (const FlightGroup& group : read.dump->groups) told[group.name][group.ranks].push_back(rank);
  }
  for (auto& [name, ways] : told) settle_members(name, ways);
}

/// Groups of one name with no rank in common are different groups; where they share one, some dump is wrong.
void Job::settle_members(const std::string& name, std::map<std::vector<Rank>, std::vector<Rank>>& told) {
  while (!told.empty()) {
    std::vector<std::vector<Rank>> rivals{told.begin()->first};
    std::size_t tellers = 0;
    for (const auto& [members, by] : told)
      if (members != rivals.front() &&
          (members.empty() || rivals.front().empty() || overlap(members, rivals.front())))
        rivals.push_back(members);
    for (const auto& rival : rivals) tellers += told[rival].size();
    const auto& most = *std::ranges::max_element(
        rivals, {}, [&](const auto& members) { return std::pair(told[members].size(), members.size()); });
    const std::size_t agree = told[most].size();
    if (rivals.size() == 1 || static_cast<double>(agree) >= kAgreement * static_cast<double>(tellers)) {
      if (rivals.size() > 1)
        remarks_.push_back(fmt::format(
            "group {}: {} of {} dumps tell other members than the rest: what they say of it is not used",
            name, tellers - agree, tellers));
      add_group(name, most, told[most]);
    } else {
      remarks_.push_back(
          fmt::format("group {}: the dumps contradict each other about its members: it is not used", name));
    }
    for (const auto& rival : rivals) told.erase(rival);
  }
}

void Job::add_group(const std::string& name, const std::vector<Rank>& members,
                    const std::vector<Rank>& tellers) {
  JobGroup made{.name = name, .members_known = !members.empty()};
  for (const Rank rank : members.empty() ? tellers : members) made.members.push_back({.rank = rank});
  std::ranges::sort(made.members, {}, &Member::rank);
  for (const Member& member : made.members) ranks_.insert(member.rank);
  for (const Rank rank : tellers) {
    Read& read = read_.at(rank);
    for (std::size_t i = 0; i < read.dump->groups.size(); ++i) {
      const FlightGroup& group = read.dump->groups[i];
      if (group.name != name) continue;
      read.group[i] = groups_.size();
      if (made.description.empty()) made.description = group.description;
    }
    if (Member* member = member_of(made, rank)) member->has_dump = true;
  }
  groups_.push_back(std::move(made));
}

void Job::take_entries() {
  for (auto& [rank, read] : read_) {
    std::vector<Member*> members(read.group.size(), nullptr);
    for (std::size_t i = 0; i < members.size(); ++i)
      if (read.group[i]) members[i] = member_of(groups_[*read.group[i]], rank);
    for (const FlightEntry& entry : read.dump->entries) {
      Member* const member = members[entry.group];
      if (entry.in_call) in_calls_.try_emplace(rank, &entry);
      if (entry.state != EntryState::completed)
        read.blocked.push_back({read.group[entry.group].value_or(groups_.size()), &entry});
      if (member == nullptr || entry.is_p2p) continue;
      ++member->entries;
      member->entered = std::max(member->entered, entry.collective);
      if (entry.state == EntryState::completed) continue;
      if (member->blocked && *member->blocked <= entry.collective) continue;
      member->blocked = entry.collective;
      member->entry = &entry;
    }
  }
  for (JobGroup& group : groups_)
    for (const Member& member : group.members)
      if (member.blocked)
        group.hangs_at = std::min(group.hangs_at.value_or(*member.blocked), *member.blocked);
}

/// A communicator is that of a group where there is one of each of its size: rank i there is the group's
/// i-th.
void Job::take_ras(const RasReport& ras, const std::optional<RasReport>& later) {
  remarks_.insert(remarks_.end(), ras.remarks.begin(), ras.remarks.end());
  bool placed = false;
  std::map<std::uint64_t, std::size_t> of_each_size;
  for (const RasCommunicator& communicator : ras.communicators)
    if (communicator.size) ++of_each_size[*communicator.size];
  for (const RasCommunicator& communicator : ras.communicators) {
    if (!communicator.size) continue;
    const auto of_size = [&](const JobGroup& group) {
      return group.members_known && group.members.size() == *communicator.size;
    };
    if (std::ranges::count_if(groups_, of_size) != 1 || of_each_size.at(*communicator.size) != 1) continue;
    JobGroup& group = *std::ranges::find_if(groups_, of_size);
    placed = true;
    group.went_on = later && went_on(communicator, *later);
    std::set<Rank> told;
    for (const RasRank& one : communicator.ranks) {
      if (one.rank >= group.members.size() || !told.insert(one.rank).second) continue;
      const Rank rank = group.members[one.rank].rank;
      RasState& state = ras_.try_emplace(rank, one.state).first->second;
      state = std::max(state, one.state);
      if (one.pid) places_.try_emplace(rank, RankPlace{one.host, one.pid});
    }
  }
  if (!placed)
    remarks_.emplace_back(
        "RAS: no communicator is as large as just one process group: its ranks are not known");
  std::multimap<std::pair<std::string, std::optional<std::uint64_t>>, Rank> at_place;
  for (const auto& [rank, place] : places_) at_place.emplace(std::pair(place.host, place.pid), rank);
  for (const RasProcess& process : ras.processes)
    for (auto [at, end] = at_place.equal_range({process.host, process.pid}); at != end; ++at)
      ras_[at->second] = std::max(ras_[at->second], process.state);
}

void Job::take_places(const HangInput& input) {
  for (const QpTable& table : input.qps)
    for (const QpRecord& qp : table.qps)
      if (qp.rank && ranks_.contains(*qp.rank)) places_[*qp.rank] = {table.host, qp.pid};
}

const FlightDump* Job::dump_of(Rank rank) const {
  const auto found = read_.find(rank);
  return found == read_.end() ? nullptr : found->second.dump;
}

std::optional<RasState> Job::ras_of(Rank rank) const {
  const auto found = ras_.find(rank);
  return found == ras_.end() ? std::nullopt : std::optional(found->second);
}

const RankPlace* Job::place_of(Rank rank) const {
  const auto found = places_.find(rank);
  return found == places_.end() ? nullptr : &found->second;
}

std::string Job::name_of(Rank rank) const {
  const RankPlace* place = place_of(rank);
  if (place == nullptr || !place->pid) return fmt::format("rank {}", rank);
  return fmt::format("rank {} (process {} on {})", rank, *place->pid,
                     place->host.empty() ? "an unknown host" : place->host);
}

std::string Job::names_of(const std::vector<Rank>& ranks) const {
  return ranks.size() == 1 ? name_of(ranks.front()) : rank_list(ranks);
}

const Operation& Job::operation(Rank rank, const FlightEntry& entry) const {
  return read_.at(rank).dump->operations[entry.operation];
}

const FlightEntry* Job::find(const JobGroup& group, Rank rank, std::uint64_t collective) const {
  const auto found = read_.find(rank);
  if (found == read_.end()) return nullptr;
  for (const FlightEntry& entry : found->second.dump->entries) {
    const auto of = found->second.group[entry.group];
    if (of && &groups_[*of] == &group && entry.collective == collective && !entry.is_p2p) return &entry;
  }
  return nullptr;
}

std::vector<Job::Elsewhere> Job::blocked_elsewhere(std::size_t besides, Rank rank) const {
  std::vector<Elsewhere> all;
  const auto found = read_.find(rank);
  if (found == read_.end()) return all;
  for (const Elsewhere& one : found->second.blocked)
    if (one.group != besides || one.entry->is_p2p) all.push_back(one);
  return all;
}

std::vector<Rank> Job::ranks_without_dump() const {
  std::vector<Rank> all;
  for (const Rank rank : ranks_)
    if (!read_.contains(rank)) all.push_back(rank);
  return all;
}

std::size_t Job::unplaced() const {
  std::size_t count = 0;
  for (const auto& [rank, read] : read_)
    count += static_cast<std::size_t>(std::ranges::count_if(
        read.blocked, [&](const Elsewhere& one) { return one.group >= groups_.size(); }));
  return count;
}

bool Job::has_completed_entries() const {
  return std::ranges::any_of(read_, [](const auto& read) {
    return std::ranges::any_of(read.second.dump->entries,
                               [](const FlightEntry& entry) { return entry.state == EntryState::completed; });
  });
}

std::string rank_list(const std::vector<Rank>& ranks, std::size_t most) {
  const std::size_t shown = ranks.size() <= most + 1 ? ranks.size() : most;
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < shown; ++i)
    text += (i == 0 ? "" : i + 1 == ranks.size() ? " and " : ", ") + std::to_string(ranks[i]);
  if (shown < ranks.size()) text += fmt::format(" and {} more", ranks.size() - shown);
  return text;
}

}  // namespace weft::nccl
