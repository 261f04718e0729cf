// A blacklist that several machines share over the bus of their watchers: the file of each is a copy.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "collectors/bus/watch_link.hpp"
#include "collectors/store/shared_ledger.hpp"

namespace weft::cli {

class LedgerOnBus {
 public:
  /// `credential`: of a watcher. `copy` must outlive it. Errors: those of read_bus_file and
  /// connect_ledger_link; usage (a credential of another fabric).
  static Result<std::unique_ptr<LedgerOnBus>> open(const std::string& credential, const std::string& fabric,
                                                   store::LedgerStore& copy);
  LedgerOnBus(const LedgerOnBus&) = delete;
  LedgerOnBus& operator=(const LedgerOnBus&) = delete;
  ~LedgerOnBus();  // lets go of the lease

  blacklist::LedgerKeeper& ledger() { return ledger_; }
  /// Takes the lease of who applies it, and keeps it; where it is lost all that the ledger is asked to change
  /// from then on is refused. Error: conflict (another one has it).
  Result<void> hold();

 private:
  LedgerOnBus(bus::LedgerLink link, std::string name, store::LedgerStore& copy);
  Result<void> may_change() const;

  bus::LedgerLink link_;
  const std::string name_;
  store::SharedLedger ledger_;
  bool is_holder_ = false;
  std::atomic<std::chrono::nanoseconds> held_until_{};  // by the steady clock
  std::jthread renewing_;
};

}  // namespace weft::cli
