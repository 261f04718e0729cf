// A change of a ledger as those who share it pass it on: what became of its entries, and what happened. The
// changes of a shared ledger are a chain: each has its id and that of the one before it. Pure.
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

/// The place of a change in its chain.
struct ChainPlace {
  std::string chain;         // the shared ledger's id, by chance
  std::string change;        // this change's id, by chance
  std::uint64_t number = 0;  // of this change, from 1
  friend bool operator==(const ChainPlace&, const ChainPlace&) = default;
};

struct LedgerChange {
  ChainPlace place{};
  std::string previous{};          // id of the change before it; empty: it is the first
  UtcTime at{};                    // by the wall clock of who made it
  bool whole = false;              // all entries: a copy may begin with it
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
