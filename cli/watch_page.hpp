// The live page of `weft watch`: --page, --page-token, --page-also, --blacklist; what it shows comes from the
// watcher each second, and from the database of --state.
#pragma once

#include <filesystem>
#include <memory>

#include "cli/home_network.hpp"
#include "cli/options.hpp"
#include "collectors/web/page_source.hpp"
#include "collectors/webhook/webhook.hpp"
#include "probes/watch/seams.hpp"
#include "probes/watch/watcher.hpp"
#include "topology/model/fabric.hpp"

namespace weft::cli {

void add_page_options(po::options_description& options);

class WatchPage {
 public:
  virtual ~WatchPage() = default;
  virtual void set(const watch::WatchState& state) = 0;
  /// What its threads have asked of the watcher.
  virtual void answer(const watch::Watcher& watcher, Nanoseconds now) = 0;
  /// Where mutes are kept, once the bus is there.
  virtual void share(std::shared_ptr<watch::SharedValue> values) = 0;
};

/// The ledger of --ledger can be read, if it is given.
Result<void> check_ledger(const po::variables_map& values, const Fabric& fabric);
/// What stands on that blacklist now, for Prometheus; empty: it is not given, or cannot be read.
std::string ledger_metrics(const std::optional<std::string>& file, const Fabric& fabric);
/// What became of the events to post; empty: there is no webhook.
std::string webhook_metrics(const webhook::Webhook* webhook, const Fabric& fabric);

/// Null: --page is not given. `warnings` and `webhook` may be null, and outlive it. `database`: empty where
/// no history is kept. It listens in `home`. The fabric outlives it. Errors: usage; conflict (the port is
/// taken); permission (the namespace of `home` may not be entered: a lab of an ordinary user).
Result<std::unique_ptr<WatchPage>> start_page(const po::variables_map& values, const Fabric& fabric,
                                              const std::filesystem::path& database,
                                              const web::WarningSource* warnings,
                                              const webhook::Webhook* webhook, const HomeNetwork& home);

}  // namespace weft::cli
