// What all words of `weft blacklist` that use a ledger have in common: their options, the ledger, the policy.
#pragma once

#include "cli/ledger_on_bus.hpp"
#include "cli/options.hpp"
#include "collectors/metrics/metrics.hpp"
#include "collectors/store/ledger_store.hpp"

namespace weft::cli {

void add_ledger_options(OptionParser& parser);
void add_policy_options(OptionParser& parser);

/// A file, or with --credential a copy of what a bus has.
struct OpenedLedger {
  Fabric fabric;
  std::unique_ptr<store::LedgerStore> store;
  std::unique_ptr<LedgerOnBus> bus;  // null: it is not shared
  blacklist::LedgerKeeper& keeper() {
    return bus ? bus->ledger() : static_cast<blacklist::LedgerKeeper&>(*store);
  }
};
Result<OpenedLedger> open_ledger(const po::variables_map& values, store::Database::Access access);

/// What is not given is as this ledger was kept before.
Result<blacklist::Policy> read_policy(const po::variables_map& values, const blacklist::Ledger& ledger);
Result<Mutes> read_mutes(const po::variables_map& values, const Fabric& fabric);
Result<std::string> need_text(const po::variables_map& values, const char* name, std::string_view why);
/// Of the option `id`.
Result<blacklist::EntryId> read_id(const po::variables_map& values);

blacklist::Now now_of_machine();
/// The option `metrics-file`, and what is written there; what cannot be written is said, and changes nothing
/// else.
void add_metrics_option(OptionParser& parser);
void write_metrics(const po::variables_map& values, const blacklist::Ledger& ledger,
                   const std::optional<metrics::TargetFigures>& target = std::nullopt);

void print_events(const std::vector<blacklist::LedgerEvent>& events);

}  // namespace weft::cli
