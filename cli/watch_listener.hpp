// What `weft watch` does with what its watcher finds: events on stdout as they happen, for people or as JSON
// Lines, and where else its options say.
#pragma once

#include <memory>

#include "cli/options.hpp"
#include "probes/run/watch_run.hpp"

namespace weft::cli {

/// -o, --events.
void add_watch_output_options(po::options_description& options);

/// `fabric` outlives it. Errors: usage, absent (a file cannot be written).
Result<std::unique_ptr<run::WatchListener>> make_watch_listener(const po::variables_map& values,
                                                                const Fabric& fabric);

}  // namespace weft::cli
