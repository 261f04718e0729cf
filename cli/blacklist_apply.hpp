// Applying changes at a target so that a run that is killed at any point is completed or undone by the next:
// what is to stand is written to the ledger as an intent, then the target is changed, then it is read back,
// then the intent is closed.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "balancer/export/plan.hpp"
#include "collectors/store/ledger_store.hpp"

namespace weft::cli {

/// Writes what the target showed of marks of the ledger.
Result<std::vector<blacklist::LedgerEvent>> settle_marks(store::LedgerStore& ledger, std::string_view target,
                                                         std::span<const exports::Plan::Settled> settled);

struct Applied {
  std::vector<blacklist::LedgerEvent> events;
  std::size_t refused = 0;  // changes that did not come to stand, each with its event
};
/// What comes off before what is put; in batches. An Error: what stands at the target is not known; intents
/// stay in the ledger.
Result<Applied> apply_changes(store::LedgerStore& ledger, exports::Target& target,
                              std::span<const exports::Change> changes);

}  // namespace weft::cli
