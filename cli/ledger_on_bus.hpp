// A blacklist that several machines share over the bus of their watchers: the file of each is a copy.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "collectors/bus/ledger_link.hpp"
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

  store::SharedLedger& ledger() { return ledger_; }
  /// Takes the lease of who applies it, and keeps it. Error: conflict (another one has it).
  Result<void> hold();
  /// After hold(), before each change of a target; of the ledger it is asked by itself. Error: conflict, the
  /// lease was lost, and stays so.
  Result<void> may_change();

 private:
  LedgerOnBus(bus::LedgerLink link, std::string name, store::LedgerStore& copy);

  bus::LedgerLink link_;
  const std::string name_;
  store::SharedLedger ledger_;
  bool is_holder_ = false;
  std::atomic<bool> is_lost_ = false;
  std::atomic<std::chrono::nanoseconds> held_until_{};  // by the steady clock
  std::jthread renewing_;
};

}  // namespace weft::cli
