// The ledger of a blacklist in a SQLite file, with its history. Whoever changes it holds the file's lock from
// reading to writing: of two writers one waits.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "balancer/blacklist/policy.hpp"
#include "collectors/store/database.hpp"

namespace weft::store {

struct LedgerLine {
  UtcTime at{};  // by the wall clock
  blacklist::LedgerEvent event;
};

class LedgerStore : public blacklist::LedgerKeeper {
 public:
  /// For writing it is made where there is none. Errors: those of Database::open and migrate; conflict, it is
  /// of another fabric.
  static Result<LedgerStore> open(const std::filesystem::path& path, const std::string& fabric,
                                  Database::Access access);

  Result<blacklist::Ledger> read() override;
  Result<blacklist::Stepped> change(
      UtcTime now, const std::function<Result<blacklist::Stepped>(blacklist::Ledger)>& step) override;
  /// The last `most` events, of one entry or of all, the oldest first.
  Result<std::vector<LedgerLine>> history(std::optional<blacklist::EntryId> entry, std::size_t most);

 private:
  explicit LedgerStore(Database database) : database_(std::move(database)) {}

  Result<void> write(const blacklist::Ledger& before, const blacklist::Ledger& after);

  Database database_;
};

}  // namespace weft::store
