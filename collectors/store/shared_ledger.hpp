// A ledger that several machines share: its changes are kept by a log on their bus, and each machine has a
// copy in a SQLite file, which follows the log. The log is the truth: a change is appended behind the one
// that the copy has, or not at all, and the copy's ledger and its place in the log are read and written in
// one transaction, so of writers on one machine or on several none loses what another changed. A log that is
// not the one that a copy follows (lost, made anew, put back from a backup) is refused. One thread.
#pragma once

#include <functional>
#include <string>

#include "collectors/store/ledger_store.hpp"
#include "probes/watch/seams.hpp"

namespace weft::store {

class SharedLedger : public blacklist::LedgerKeeper {
 public:
  struct Seams {
    std::function<std::string()> random_id;              // hexadecimal digits that nobody else draws
    std::function<Result<void>()> may_change = nullptr;  // asked before each change; its Error is passed on
  };
  /// Both must outlive it; the log has the changes of this ledger alone.
  SharedLedger(LedgerStore& copy, watch::ChangeLog& log, Seams seams)
      : copy_(copy), log_(log), seams_(std::move(seams)) {}

  /// Makes the copy's ledger the first change. Does nothing where it did so before. Error: conflict, the log
  /// has a ledger already, or this is a copy of another one.
  Result<void> share(UtcTime now);

  /// Errors beside those of the log and the file: conflict (the copy is not of what this log has, or the log
  /// lost changes), invalid_input (what stands in the log).
  Result<blacklist::Ledger> read() override;
  /// `step` is called again where others changed it meanwhile.
  Result<blacklist::Stepped> change(
      UtcTime now, const std::function<Result<blacklist::Stepped>(blacklist::Ledger)>& step) override;

 private:
  Result<bool> follow_one();
  Result<void> catch_up();
  Result<bool> append(const blacklist::LedgerChange& change, std::uint64_t last);
  Result<blacklist::LedgerChange> first_of(const SharedPlace& at, std::uint64_t& sequence);

  LedgerStore& copy_;
  watch::ChangeLog& log_;
  const Seams seams_;
};

}  // namespace weft::store
