#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "collectors/nccl/job.hpp"
#include "collectors/nccl/suspects.hpp"

namespace weft::nccl {
namespace {

constexpr double kLast = 0.5;          // who comes last waits no longer than this share of the middle rank
constexpr double kMinLastShare = 0.8;  // of the collectives
constexpr std::size_t kMinCollectives = 8;  // to speak of a habit
constexpr std::size_t kMinMembers = 4;
constexpr std::uint64_t kMaxLooked = 256;  // collectives of a group, the last ones
constexpr double kMaxLastShare = 0.25;     // of a group
constexpr std::size_t kMaxSlow = 8;        // the ranks of a host; of more, none stands out
constexpr double kMaxSlowShare = 0.125;    // of a job

struct Timed {
  std::uint64_t collective;
  Rank rank;
  std::int64_t duration;
};

/// By rank: collectives of the group in which it came last, and all that are known of it.
void count_last(const std::vector<Timed>& timed,
                std::map<Rank, std::pair<std::size_t, std::size_t>>& counts) {
  std::vector<std::int64_t> durations;
  for (std::size_t begin = 0, end = 0; begin < timed.size(); begin = end) {
    while (end < timed.size() && timed[end].collective == timed[begin].collective) ++end;
    if (end - begin < kMinMembers) continue;
    durations.clear();
    for (std::size_t i = begin; i < end; ++i) durations.push_back(timed[i].duration);
    const auto middle = durations.begin() + static_cast<std::ptrdiff_t>(durations.size() / 2);
    std::ranges::nth_element(durations, middle);
    for (std::size_t i = begin; i < end; ++i) {
      auto& [last, all] = counts[timed[i].rank];
      ++all;
      if (static_cast<double>(timed[i].duration) <= kLast * static_cast<double>(*middle)) ++last;
    }
  }
}

/// Who comes last to the group's collectives as a habit; empty: nobody, or so many that none stands out.
std::set<Rank> habitually_last(const Job& job, const JobGroup& group) {
  std::uint64_t end = 0;
  for (const Member& member : group.members) end = std::max(end, member.entered);
  std::vector<Timed> timed;
  for (const Member& member : group.members) {
    if (!member.has_dump) continue;
    job.each_entry(group, member.rank, [&](const FlightEntry& entry) {
      if (entry.state != EntryState::completed || entry.collective + kMaxLooked < end) return;
      const bool told = entry.started > 0 && entry.completed > entry.started;
      const std::int64_t duration = entry.duration > 0 ? entry.duration
                                    : told             ? entry.completed - entry.started
                                                       : 0;
      if (duration > 0) timed.push_back({entry.collective, member.rank, duration});
    });
  }
  std::ranges::sort(timed, {}, [](const Timed& one) { return std::pair(one.collective, one.rank); });
  std::map<Rank, std::pair<std::size_t, std::size_t>> counts;
  count_last(timed, counts);
  std::set<Rank> last;
  for (const auto& [rank, count] : counts)
    if (count.second >= kMinCollectives &&
        static_cast<double>(count.first) >= kMinLastShare * static_cast<double>(count.second))
      last.insert(rank);
  if (static_cast<double>(last.size()) > kMaxLastShare * static_cast<double>(group.members.size()))
    last.clear();
  return last;
}

}  // namespace

std::optional<Suspicion> find_slow_ranks(const Job& job) {
  // Who waits for another in one group comes late to its next one: it is a victim.
  std::set<Rank> slow;
  std::set<Rank> victims;
  for (const JobGroup& group : job.groups()) {
    if (group.members.size() < kMinMembers) continue;
    const auto last = habitually_last(job, group);
    if (last.empty()) continue;
    for (const Member& member : group.members)
      (last.contains(member.rank) ? slow : victims).insert(member.rank);
  }
  Suspicion made{.cause = HangCause::slow_rank};
  std::ranges::set_difference(slow, victims, std::back_inserter(made.ranks));
  const auto most = static_cast<std::size_t>(kMaxSlowShare * static_cast<double>(job.ranks().size()));
  if (made.ranks.empty() || made.ranks.size() > std::max(kMaxSlow, most)) return std::nullopt;
  made.sentence =
      fmt::format("{} {} slow: the others wait for it in almost every collective, no link is at fault",
                  made.ranks.size() == 1 ? job.name_of(made.ranks.front()) : rank_list(made.ranks),
                  made.ranks.size() == 1 ? "is" : "are");
  made.evidence.push_back(
      fmt::format("{}: its kernels run less than half as long as the others', which start early and wait",
                  rank_list(made.ranks)));
  return made;
}

}  // namespace weft::nccl
