// The ledger: all entries of a fabric's blacklist with their marks, and the time that it counts by. Plain
// values. step() (policy.hpp) alone changes entries; whoever applies changes writes their marks.
//
// Wall clocks jump, and a process that runs by cron has no other between its runs. So the ledger counts a
// time of its own: what passed of the machine's uptime since its last step, and after a reboot no more than a
// few minutes by the wall clock. Nothing ends by a jump.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "balancer/blacklist/subject.hpp"
#include "topology/base/utc.hpp"

namespace weft::blacklist {

using Seconds = std::chrono::seconds;
using EntryId = Strong<struct EntryIdTag, std::uint64_t>;  // from 1, in one ledger never twice

/// Of a reason, and of each line of evidence, in bytes.
inline constexpr std::size_t kMaxText = 1000;
/// For which an operator may add an entry.
inline constexpr auto kMaxTime = std::chrono::hours(24 * 366);

/// An entry counts as an offence, and is kept, for so long after it was last seen.
inline constexpr auto kOffencesCount = std::chrono::hours(24 * 30);

/// proposed: not applied, for its evidence does not suffice, somebody has to approve, or something holds it
/// back. active: to be applied. probation: marks are taken off, a relapse makes it active at once. released:
/// over; it stays for its offences.
enum class EntryState : std::uint8_t { proposed, active, probation, released };
std::string_view to_string(EntryState state);
std::optional<EntryState> parse_entry_state(std::string_view text);

/// What stands at a target because of an entry, written before it is set (an intent) and once it was read
/// back.
struct Mark {
  std::string target;                               // slurm
  std::string object;                               // gpu001
  std::string before;                               // what stood there, to be put back
  std::string set;                                  // what we put there
  UtcTime at{};                                     // asked for, or not seen any more, since then
  std::optional<UtcTime> read_back = std::nullopt;  // seen there, the last time that it was news
  /// It may or may not stand there: an intent, or one that is not seen any more.
  bool is_open() const { return !read_back || *read_back < at; }
  friend bool operator==(const Mark&, const Mark&) = default;
};

/// A run that says that the subject is at fault.
struct Sighting {
  std::string run;
  UtcTime from{}, until{};  // when its packets were sent
  friend bool operator==(const Sighting&, const Sighting&) = default;
};

struct Entry {
  EntryId id{};
  SubjectName subject{};
  Cause cause = Cause::loss;
  Verdict verdict = Verdict::degraded;
  EntryState state = EntryState::proposed;
  double confidence = 0;
  std::optional<double> size{};         // least of what was estimated, in the unit of Estimate
  std::vector<std::string> evidence{};  // of the last run that saw it
  std::string author{};                 // weft, or who added it
  std::string reason{};                 // as they gave it; empty: the evidence is the reason
  std::uint32_t offences = 1;           // with those of 30 days before
  bool by_hand = false;                 // added, not found: evidence does not release it
  bool approved = false;
  bool needs_approval = false;             // as the policy had it when a run told of it
  bool supported = false;                  // its evidence suffices
  bool relapsed = false;                   // seen again while on probation
  bool is_known = true;                    // the fabric has its subject
  bool held = false;                       // by an operator: nothing is applied until approved
  std::optional<std::string> held_back{};  // why it is not active although its evidence suffices
  std::optional<Sighting> first_sure{};    // of the runs that proposed it, the first of some confidence
  UtcTime first_seen{}, last_seen{};       // wall clock, for people
  UtcTime told_until{};                    // of the last run that said anything of it
  std::optional<UtcTime> put_back{};       // into use: what runs that began before saw of it is no evidence
  std::optional<Seconds> ends{};           // by the ledger's time, where it was added for a time
  Seconds since{};                         // ledger's time of the last change of state
  std::optional<Seconds> clean_at{};       // ledger's time of the last clean run, in a row of such
  Seconds clean{};                         // how long it has been clean
  std::vector<Mark> marks{};
  friend bool operator==(const Entry&, const Entry&) = default;
};

/// Now, as the machine has it.
struct Now {
  UtcTime wall{};
  Seconds uptime{};
  std::string boot;  // id of this boot
  friend bool operator==(const Now&, const Now&) = default;
};

/// The last step of one boot of a machine, by its uptime and by the ledger's time.
struct BootStep {
  std::string boot;
  Seconds uptime{}, time{};
  friend bool operator==(const BootStep&, const BootStep&) = default;
};

struct Ledger {
  std::string fabric;
  std::vector<Entry> entries;  // by id, ascending
  std::uint64_t last_id = 0;
  Seconds time{};                 // the ledger's own
  std::optional<Now> last;        // of the step before
  std::vector<BootStep> boots{};  // of those that stepped, the latest last
  UtcTime told_until{};           // of the newest evidence
  std::vector<UtcTime> taken{};   // when the runs ended that were taken lately, ascending
  /// By which its caps were checked last. Absent: no step was made.
  std::optional<NicAction> nic_action{};
  /// Why nothing new is applied (resume ends it); absent: it is.
  std::optional<std::string> breaker{};
  /// Ledger's times of new activations that drained a host, within the last hour.
  std::vector<Seconds> drained;
  friend bool operator==(const Ledger&, const Ledger&) = default;
};

/// A step is made now: the ledger's time goes on by what is believed of the time since the step before. Of a
/// boot that stepped before, the uptime since then, so machines that take turns need no equal wall clocks; of
/// any other the wall clock, ten minutes at most.
void count_time(Ledger& ledger, const Now& now);

/// A clock that was ahead has told of runs to come, which would outrank all others until then: what is later
/// than `newest` becomes `now`. Up to when it told; absent: it was not ahead.
std::optional<UtcTime> set_back(Ledger& ledger, UtcTime newest, UtcTime now);

/// Null: there is none.
const Entry* find(const Ledger& ledger, EntryId id);
Entry* find(Ledger& ledger, EntryId id);

}  // namespace weft::blacklist
