// What `weft watch` does with what its watcher finds: events on stdout as they happen, for people or as JSON
// Lines, and where else its options say.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "cli/options.hpp"
#include "cli/watch_page.hpp"
#include "probes/run/watch_run.hpp"
#include "topology/os/service_notifier.hpp"

namespace weft::cli {

/// -o, --events, --state, --metrics-file, --webhook, --webhook-secret, and those of the page.
void add_watch_output_options(po::options_description& options);

/// Of --state, made where it was not there; absent: not given. Error: absent (it cannot be made).
Result<std::optional<std::filesystem::path>> state_directory(const po::variables_map& values);

/// `fabric` and `service`, which hears in a line how the watch is, outlive it. Errors: usage, absent (a file
/// cannot be written).
Result<std::unique_ptr<run::WatchListener>> make_watch_listener(const po::variables_map& values,
                                                                const Fabric& fabric, const HomeNetwork& home,
                                                                os::ServiceNotifier& service);

}  // namespace weft::cli
