// What `weft watch` does with what its watcher finds: events on stdout as they happen, for people or as JSON
// Lines, and where else its options say.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "cli/home_network.hpp"
#include "cli/options.hpp"
#include "probes/run/watch_run.hpp"
#include "topology/files/counter_section.hpp"
#include "topology/os/service_notifier.hpp"

namespace weft::cli {

/// In the directory of --state.
inline constexpr const char* kWatchDatabase = "watch.db";

/// -o, --events, --state, --metrics-file, --webhook, --webhook-secret, those of the page and of counters.
void add_watch_output_options(po::options_description& options);

/// Of --state, made where it was not there; absent: not given. Error: absent (it cannot be made).
Result<std::optional<std::filesystem::path>> state_directory(const po::variables_map& values);

class WatchOutputs : public run::WatchListener {
 public:
  /// When the watch is over. Error: absent, some events could not be written to stdout or --events.
  virtual Result<void> finish() = 0;
};

/// `counters`: what the fabric file says of them. `fabric` and `service`, which hears in a line how the watch
/// is, outlive it. Errors: usage, absent (a file cannot be written), conflict (another watch has the
/// directory of --state).
Result<std::unique_ptr<WatchOutputs>> make_watch_outputs(const po::variables_map& values,
                                                         const Fabric& fabric,
                                                         const files::CounterSources& counters,
                                                         const HomeNetwork& home,
                                                         os::ServiceNotifier& service);

}  // namespace weft::cli
