// Policy: what becomes of a blacklist when a run has told something, an operator has said something, or time
// has passed. Pure: step() takes a ledger and returns the next one with what happened. It applies nothing;
// what an active entry means at a target, balancer/export says.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "balancer/blacklist/capacity.hpp"
#include "balancer/blacklist/evidence.hpp"
#include "balancer/blacklist/ledger.hpp"
#include "balancer/blacklist/ledger_event.hpp"
#include "topology/findings/mute.hpp"

namespace weft::blacklist {

struct Add {
  Subject subject;
  Seconds length{};
  std::string reason, author;
};
struct Release {
  EntryId id;
  std::string author;
};
/// May be applied, also after it was held.
struct Approve {
  EntryId id;
  std::string author;
};
/// Is taken off, and not applied again without approval.
struct Hold {
  EntryId id;
  std::string reason, author;
};
/// Ends the breaker.
struct Resume {
  std::string author;
};
using Command = std::variant<Add, Release, Approve, Hold, Resume>;

struct Policy {
  double sure = 0.99;                       // confidence that suffices of one run
  double confirmed = 0.9;                   // of two that share no packet
  std::map<SubjectKind, bool> automatic{};  // false: an entry needs approval; absent: automatic
  NicAction nic_action = NicAction::host;
  Caps caps;
  /// Of clean evidence until marks come off, and again until the entry is released; doubled with each offence
  /// of the last 30 days.
  Seconds clean = std::chrono::minutes(30);
  Seconds longest_clean = std::chrono::hours(24 * 7);
  /// What lies between two clean runs counts for no more than this.
  Seconds longest_gap = std::chrono::hours(1);
  /// A run that ended longer ago is refused: a daily sweep may fail once, as for the gate.
  Seconds oldest = std::chrono::hours(48);
};

struct Stepped {
  Ledger ledger;
  std::vector<LedgerEvent> events;
};

/// Evidence in the order of its time, then commands, then time. What is muted makes no entry. An entry whose
/// subject the fabric has no more stays as it is, and no mark of it is renewed: its event says so once. With
/// commands alone nothing is released or put on trial but what they name and what was added for a time:
/// whoever types one may not give the times by which the site releases.
Stepped step(Ledger ledger, const Fabric& fabric, const Policy& policy, std::span<const Evidence> evidence,
             std::span<const Command> commands, const Mutes& mutes, const Now& now);

/// Ends what was added for a time, and nothing else: for whoever applies a ledger and hears no evidence.
Stepped let_time_pass(Ledger ledger, const Fabric& fabric, const Policy& policy, const Now& now);

/// Keeps the ledger of a fabric. Errors say what keeps it from doing so.
class LedgerKeeper {
 public:
  virtual ~LedgerKeeper() = default;
  virtual Result<Ledger> read() = 0;
  /// What `step` makes of the ledger is kept with its events, or nothing is. Nobody else changes it
  /// meanwhile: where somebody did, `step` is called again, with what they made of it.
  virtual Result<Stepped> change(UtcTime now, const std::function<Result<Stepped>(Ledger)>& step) = 0;
};

}  // namespace weft::blacklist
