// Synchronization: makes a target show what a ledger demands, so that a run that is killed at any point is
// completed or undone by the next. What is to stand is written to the ledger as an intent, then the target is
// changed, then it is read back, then the intent is closed. Of a ledger and a target behind their seams.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "balancer/export/plan.hpp"

namespace weft::exports {

/// A ledger and a target; all must outlive it.
struct Site {
  const Fabric& fabric;
  const blacklist::Policy& policy;
  blacklist::LedgerKeeper& ledger;
  Target& target;
  std::function<blacklist::Now()> clock;
  /// Of each event, as soon as it is in the ledger.
  std::function<void(const std::vector<blacklist::LedgerEvent>&)> add_events;
  /// Of each change of a target that may be cut off, before it is made; empty: nobody listens.
  std::function<void(const Change&)> announce{};
  /// Asked right before the target is changed, where others might apply the same ledger; its Error ends the
  /// run. Empty: nobody else can.
  std::function<Result<void>()> may_apply{};
};

/// What a ledger demands, what stands at the target, and what has to change for that.
struct Look {
  blacklist::Ledger ledger;
  Translation translation;
  std::vector<Standing> standings;
  Plan plan;
};
/// What one answer says of a mark that it is there no more is believed once a second answer says so too.
Result<Look> look_at(const Site& site, blacklist::Ledger ledger);
/// The same standings against another state of the ledger.
void plan_anew(const Site& site, Look& look, blacklist::Ledger ledger);

/// Asks for the right to change the target; entries of which somebody took a mark off there go to hold, and
/// their other marks come off; what the target showed of marks is written down; then the changes are made,
/// in batches: what comes off first, and what is put by a plan made anew after that: only what did come off
/// makes room under a cap. `look` is then what was planned in the end. The number of changes that did not
/// come to stand, each with its event, and of those that the target cannot make. An Error: what stands at the
/// target is not known; intents stay in the ledger.
/// With `Puts::none` nothing is put, whatever there is room for.
enum class Puts : std::uint8_t { made, none };
Result<std::size_t> apply(const Site& site, Look& look, Puts puts = Puts::made);

}  // namespace weft::exports
