// The ledger as text: an entry a line (`weft.blacklist/2`, docs/schema/ledger_entry.schema.json), and the
// rest of it (`weft.ledger/1`), which nobody but weft reads. Without line ends.
#pragma once

#include <string>
#include <string_view>

#include "balancer/blacklist/ledger.hpp"

namespace weft::blacklist {

struct LedgerEntry {
  std::string fabric;
  Entry entry;
};

std::string entry_line(std::string_view fabric, const Entry& entry);
/// An Error (invalid_input) names `what` and the member that is wrong.
Result<LedgerEntry> parse_entry_line(std::string_view line, std::string_view what);

/// Whether these JSON Lines are of a ledger, not weft.blacklist/1.
bool are_of_ledger(std::string_view lines);
/// One entry a line; empty lines are passed over. An Error names `what`, the line and the member.
Result<std::vector<LedgerEntry>> parse_entry_lines(std::string_view lines, std::string_view what);

/// All but the entries.
std::string ledger_line(const Ledger& ledger);
Result<Ledger> parse_ledger_line(std::string_view line, std::string_view what);

}  // namespace weft::blacklist
