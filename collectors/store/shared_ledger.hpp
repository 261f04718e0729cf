// A ledger that several machines share: its changes are kept by a log on their bus, and each has a copy in a
// SQLite file, which follows the log. Of two that change it at once one is refused by the log, and begins
// again with what the other made of it. One thread.
#pragma once

#include <functional>

#include "collectors/store/ledger_store.hpp"
#include "probes/watch/seams.hpp"

namespace weft::store {

class SharedLedger : public blacklist::LedgerKeeper {
 public:
  /// Both must outlive it; the log has the changes of this ledger alone (EventLog's incident 0). A copy that
  /// followed nothing yet and an empty log: what stands in the copy is the first change. `may_change`: asked
  /// before each change; its Error is passed on.
  SharedLedger(LedgerStore& copy, watch::EventLog& log, std::function<Result<void>()> may_change = {})
      : copy_(copy), log_(log), may_change_(std::move(may_change)) {}

  /// Errors beside those of the log and the file: conflict (the copy is of a ledger that this log does not
  /// have, or the log lost changes), invalid_input (what stands in the log).
  Result<blacklist::Ledger> read() override;
  Result<blacklist::Stepped> change(
      UtcTime now, const std::function<Result<blacklist::Stepped>(blacklist::Ledger)>& step) override;

 private:
  Result<void> follow();
  Result<void> follow(const watch::StoredEvent& stored);

  LedgerStore& copy_;
  watch::EventLog& log_;
  std::function<Result<void>()> may_change_;
};

}  // namespace weft::store
