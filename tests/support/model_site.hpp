// A Slurm and a ledger that are kept in memory, with all that goes wrong at them: calls that fail, a process
// that is killed, others who drain and undrain. They check what must never happen where it would.
#pragma once

#include <functional>
#include <map>
#include <random>
#include <string>

#include "balancer/export/slurm_node.hpp"
#include "balancer/export/sync.hpp"
#include "balancer/export/translate.hpp"

namespace weft {

/// weft is killed here.
struct Killed {};

/// What a call meets: nothing, an error before or after its effect, or the end of weft.
enum class Fate { well, fails, fails_done, killed, killed_done };

/// Decides the fate of each call to come.
using Fates = std::function<Fate()>;

class ModelLedger : public blacklist::LedgerKeeper {
 public:
  ModelLedger(const Fabric& fabric, Fates fates) : fates_(std::move(fates)) {
    ledger_.fabric = fabric.name();
  }
  const blacklist::Ledger& ledger() const { return ledger_; }

  Result<blacklist::Ledger> read() override;
  Result<blacklist::Stepped> change(
      UtcTime now, const std::function<Result<blacklist::Stepped>(blacklist::Ledger)>& step) override;

 private:
  blacklist::Ledger ledger_;
  Fates fates_;
};

class ModelSlurm : public exports::Target {
 public:
  ModelSlurm(const Fabric& fabric, const blacklist::Caps& caps, Fates fates);
  /// Broken rules, in words; empty: none.
  const std::string& broken() const { return broken_; }
  void break_rule(const std::string& words) {
    if (broken_.empty()) broken_ = words;
  }

  std::string_view name() const override { return "slurm"; }
  exports::Translation translate(const blacklist::Ledger& ledger, const Fabric& fabric,
                                 const blacklist::Policy& policy) const override {
    return exports::translate_for_slurm(ledger, fabric, policy);
  }
  Result<void> check_rights() override;
  Result<std::vector<exports::Standing>> read(std::span<const std::string> objects) override;
  Result<void> apply(std::span<const exports::Change> changes) override;
  std::string by_hand(const exports::Change&) const override { return {}; }

  // What others do.
  void drain(const std::string& host, const std::string& reason);
  void resume(const std::string& host);
  /// Features are as the configuration has them.
  void reconfigure();

  std::map<std::string, exports::SlurmNode>& nodes() { return nodes_; }
  /// Objects with a mark of ours.
  std::vector<std::string> marked() const;

 private:
  void make(const exports::Change& change);
  std::size_t drained() const;

  blacklist::Caps caps_;
  Fates fates_;
  std::map<std::string, exports::SlurmNode> nodes_;
  std::string broken_;
};

}  // namespace weft
