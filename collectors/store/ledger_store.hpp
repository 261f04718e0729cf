// The ledger of a blacklist in a SQLite file, with its history. Whoever changes it holds the file's lock from
// reading to writing: of two writers one waits.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "balancer/blacklist/ledger_change.hpp"
#include "balancer/blacklist/policy.hpp"
#include "collectors/store/database.hpp"

namespace weft::store {

struct LedgerLine {
  UtcTime at{};  // by the wall clock
  blacklist::LedgerEvent event;
};

/// Of a file that is a copy of a shared ledger: the last change that it has.
struct SharedPlace {
  blacklist::ChainPlace place;   // of no change: it is about to be shared
  std::uint64_t sequence = 0;    // in the log; 0: none yet
  std::uint64_t last_whole = 0;  // number of the last change that told all of the ledger
  friend bool operator==(const SharedPlace&, const SharedPlace&) = default;
};

class LedgerStore : public blacklist::LedgerKeeper {
 public:
  /// For writing it is made where there is none. Errors: those of Database::open and migrate; conflict, it is
  /// of another fabric.
  static Result<LedgerStore> open(const std::filesystem::path& path, const std::string& fabric,
                                  Database::Access access);

  Result<blacklist::Ledger> read() override;
  /// Error beside those of `step`: usage, it is a copy of a shared ledger, which SharedLedger changes.
  Result<blacklist::Stepped> change(
      UtcTime now, const std::function<Result<blacklist::Stepped>(blacklist::Ledger)>& step) override;
  /// The last `most` events, of one entry or of all, the oldest first.
  Result<std::vector<LedgerLine>> history(std::optional<blacklist::EntryId> entry, std::size_t most);

  // For SharedLedger, of which each step is one transaction: the ledger and its place change together.
  const std::filesystem::path& path() const { return database_.path(); }
  Result<void> in_transaction(const std::function<Result<void>()>& work) {
    return database_.in_transaction(work);
  }
  /// Absent: the ledger is this file's own.
  Result<std::optional<SharedPlace>> shared();
  Result<void> set_shared(const std::optional<SharedPlace>& shared);
  /// Takes over what somebody made of the ledger, with its history. Within a transaction.
  Result<void> take_over(const blacklist::LedgerChange& change, std::uint64_t sequence);

 private:
  explicit LedgerStore(Database database) : database_(std::move(database)) {}

  Result<void> add_events(UtcTime at, const std::vector<blacklist::LedgerEvent>& events);
  Result<void> write(const blacklist::Ledger& before, const blacklist::Ledger& after);

  Database database_;
};

}  // namespace weft::store
