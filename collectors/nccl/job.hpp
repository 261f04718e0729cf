// Job: the dumps of all ranks side by side. Process groups by name and members, how far each member came in
// each, who left no dump, what RAS says of whom, and where a rank runs. Clocks of ranks are never compared:
// ranks meet by the numbers of their collectives. Pure.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "collectors/nccl/flight_dump.hpp"
#include "collectors/nccl/qp_table.hpp"
#include "collectors/nccl/ras.hpp"

namespace weft::nccl {

struct RankDump {
  Rank rank = 0;
  std::string file;
  FlightDump dump;
};

/// A dump that could not be read.
struct LostDump {
  std::string file;
  std::optional<Rank> rank = std::nullopt;
  std::string why;
};

struct HangInput {
  std::vector<RankDump> dumps;
  std::vector<LostDump> lost;
  std::optional<RasReport> ras = std::nullopt;
  std::optional<RasReport> ras_later = std::nullopt;  // the same, asked again some seconds later
  std::vector<QpTable> qps = {};
};

/// How far a rank came in a group, by its dump.
struct Member {
  Rank rank = 0;
  bool has_dump = false;                                // that can be believed of this group
  std::uint64_t entered = 0;                            // the last collective of the group that it entered
  std::optional<std::uint64_t> blocked = std::nullopt;  // the first that it entered and did not complete
  const FlightEntry* entry = nullptr;                   // of `blocked`
  std::size_t entries = 0;                              // of the group, in the dump
};

struct JobGroup {
  std::string name;
  std::string description;
  std::vector<Member> members;  // by rank; where no dump tells who they are, those that used it
  bool members_known = false;
  /// The first collective that a member entered and did not complete; absent: all did.
  std::optional<std::uint64_t> hangs_at = std::nullopt;
  bool went_on = false;  // all its ranks launched more collectives between two answers of RAS

  const Member* find(Rank rank) const;
  std::string title() const;  // group 0 (default_pg)
};

/// Where a rank runs, as RAS or a QP table says.
struct RankPlace {
  std::string host;
  std::optional<std::uint64_t> pid = std::nullopt;
};

class Job {
 public:
  /// `input` must outlive this.
  explicit Job(const HangInput& input);

  const std::vector<JobGroup>& groups() const { return groups_; }
  const std::set<Rank>& ranks() const { return ranks_; }
  /// Null: none, or two that say different things.
  const FlightDump* dump_of(Rank rank) const;
  std::optional<RasState> ras_of(Rank rank) const;
  const RankPlace* place_of(Rank rank) const;
  /// "rank 17 (process 483072 on gpu3)".
  std::string name_of(Rank rank) const;
  /// Of one that, of several "ranks 3, 5 and 12 more".
  std::string names_of(const std::vector<Rank>& ranks) const;
  /// The operation of an entry of that rank's dump.
  const Operation& operation(Rank rank, const FlightEntry& entry) const;
  /// The first entry of a collective in a rank's dump; null: it has none.
  const FlightEntry* find(const JobGroup& group, Rank rank, std::uint64_t collective) const;
  template <class Take>
  void each_entry(const JobGroup& group, Rank rank, Take take) const {
    const auto found = read_.find(rank);
    if (found == read_.end()) return;
    for (const FlightEntry& entry : found->second.dump->entries) {
      const auto of = found->second.group[entry.group];
      if (of && &groups_[*of] == &group && !entry.is_p2p) take(entry);
    }
  }
  /// Entries that a rank did not complete, of groups other than `besides` and of transfers between two ranks,
  /// with the index of their group.
  struct Elsewhere {
    std::size_t group = 0;
    const FlightEntry* entry = nullptr;
  };
  std::vector<Elsewhere> blocked_elsewhere(std::size_t besides, Rank rank) const;
  /// What is not known, a sentence each.
  const std::vector<std::string>& remarks() const { return remarks_; }
  std::vector<Rank> ranks_without_dump() const;
  /// The first entry of each rank whose call has not returned.
  const std::map<Rank, const FlightEntry*>& in_calls() const { return in_calls_; }
  /// Entries that are not completed, of groups whose members the dumps contradict each other about.
  std::size_t unplaced() const;
  /// False: dumps of nothing but what is under way.
  bool has_completed_entries() const;

 private:
  struct Read {
    const FlightDump* dump = nullptr;
    std::vector<std::optional<std::size_t>> group;  // of the job, by that of the dump
    std::vector<Job::Elsewhere> blocked;
  };
  void take_dumps(const HangInput& input);
  void take_groups();
  void settle_members(const std::string& name, std::map<std::vector<Rank>, std::vector<Rank>>& told);
  void add_group(const std::string& name, const std::vector<Rank>& members, const std::vector<Rank>& tellers);
  void take_entries();
  void take_ras(const RasReport& ras, const std::optional<RasReport>& later);
  void take_places(const HangInput& input);

  std::vector<JobGroup> groups_;
  std::set<Rank> ranks_;
  std::map<Rank, Read> read_;
  std::map<Rank, const FlightEntry*> in_calls_;
  std::map<Rank, RasState> ras_;
  std::map<Rank, RankPlace> places_;
  std::vector<std::string> remarks_;
};

/// "rank 3", "ranks 3, 5 and 12 more": at most `most` of them by number.
std::string rank_list(const std::vector<Rank>& ranks, std::size_t most = 6);

}  // namespace weft::nccl
