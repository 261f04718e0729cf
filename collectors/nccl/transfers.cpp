#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <tuple>

#include "collectors/nccl/suspects.hpp"

namespace weft::nccl {
namespace {

constexpr std::size_t kMaxTold = 4;  // ranks that evidence tells one by one

/// "nccl:send 3->1" and "nccl:recv 1<-3": the other rank, within the group.
std::optional<std::size_t> peer_in(std::string_view name) {
  std::size_t arrow = name.find("->");
  if (arrow == name.npos) arrow = name.find("<-");
  if (arrow == name.npos) return std::nullopt;
  std::size_t peer = 0;
  const auto digits = name.substr(arrow + 2);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), peer);
  return error == std::errc() && end != digits.data() ? std::optional(peer) : std::nullopt;
}

/// How many transfers, up to a record of a dump; absent: the dump, a ring, has lost its oldest entries.
std::optional<std::size_t> posted(const FlightDump& dump, std::string_view group, std::string_view name,
                                  std::uint64_t up_to = std::numeric_limits<std::uint64_t>::max()) {
  if (dump.entries.front().record != 0) return std::nullopt;
  return std::ranges::count_if(dump.entries, [&](const FlightEntry& entry) {
    return entry.is_p2p && entry.record <= up_to && dump.groups[entry.group].name == group &&
           dump.operations[entry.operation].name == name;
  });
}

/// "nccl:recv 1<-3" of "nccl:send 3->1", and the other way round.
std::string other_half(std::string_view name, std::size_t peer) {
  const bool sends = name.find("->") != name.npos;
  const auto rank = name.substr(name.find(' ') + 1);
  return fmt::format("nccl:{} {}{}{}", sends ? "recv" : "send", peer, sends ? "<-" : "->",
                     rank.substr(0, rank.find_first_of("-<")));
}

}  // namespace

std::optional<Suspicion> find_missing_half(const Job& job, const ProxyWaits& proxies,
                                           std::size_t& transfers) {
  std::map<Rank, std::pair<Rank, std::string>> absent;  // who, for whom it is missing, which
  for (const Rank rank : job.ranks())
    for (const Job::Elsewhere& one : job.blocked_elsewhere(job.groups().size(), rank)) {
      if (!one.entry->is_p2p) continue;
      ++transfers;
      const auto peer = peer_in(job.operation(rank, *one.entry).name);
      if (one.group >= job.groups().size() || !peer || *peer >= job.groups()[one.group].members.size())
        continue;
      const Member& other = job.groups()[one.group].members[*peer];
      if (!other.has_dump || other.rank == rank || job.dump_of(other.rank)->entries.empty() ||
          !job.blocked_elsewhere(job.groups().size(), other.rank).empty())
        continue;
      const auto& [name, group] =
          std::tie(job.operation(rank, *one.entry).name, job.groups()[one.group].name);
      const bool sends = name.find("->") != name.npos;
      if (proxies.has(other.rank, rank, !sends)) continue;  // its half is under way
      const auto number = posted(*job.dump_of(rank), group, name, one.entry->record);
      const auto matched = posted(*job.dump_of(other.rank), group, other_half(name, *peer));
      if (number && matched && *matched >= *number) continue;  // its half is done
      absent.try_emplace(other.rank, rank, number ? fmt::format("transfer {} of {}", *number, name) : name);
    }
  if (absent.empty()) return std::nullopt;
  Suspicion made{.cause = HangCause::never_entered};
  for (const auto& [rank, why] : absent) {
    made.ranks.push_back(rank);
    if (made.evidence.size() < kMaxTold)
      made.evidence.push_back(
          fmt::format("rank {} waits in {}, and rank {} has nothing under way", why.first, why.second, rank));
  }
  made.sentence = fmt::format("{} never came to a transfer that {} waits for", job.names_of(made.ranks),
                              rank_list({absent.begin()->second.first}));
  return made;
}

}  // namespace weft::nccl
