// A change of a ledger as those who share it pass it on: what became of its entries, and what happened. Pure.
// As text, lines of JSON: the change (`weft.ledger_change/1`), the ledger without its entries
// (`weft.ledger/1`), and each entry that changed (`weft.blacklist/2`).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "balancer/blacklist/ledger.hpp"
#include "balancer/blacklist/ledger_event.hpp"

namespace weft::blacklist {

struct LedgerChange {
  UtcTime at{};                    // by the wall clock of who made it
  std::uint64_t behind = 0;        // the number of the change before it; 0: it is the first
  bool whole = false;              // all entries: whatever was known before is replaced
  Ledger ledger{};                 // of its entries those that changed, or all
  std::vector<EntryId> removed{};  // entries
  std::vector<LedgerEvent> events{};
  friend bool operator==(const LedgerChange&, const LedgerChange&) = default;
};

/// What makes `after` of `before`; or, `whole`, all of it.
LedgerChange change_between(const Ledger& before, const Ledger& after, bool whole);
/// The ledger after it.
Ledger with_change(const Ledger& before, const LedgerChange& change);

std::string change_text(const LedgerChange& change);
/// An Error (invalid_input) names `what`, the line and the member that is wrong.
Result<LedgerChange> parse_change(std::string_view text, std::string_view what);

}  // namespace weft::blacklist
