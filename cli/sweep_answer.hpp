// What sweep and simulate print and write once the work is done.
#pragma once

#include <stop_token>

#include "cli/options.hpp"
#include "cli/progress.hpp"
#include "collectors/counters/counter_series.hpp"
#include "probes/session/sweep.hpp"

namespace weft::cli {

void add_answer_options(po::options_description& options);
/// Error: usage, also for a file that could not be written once the work is done.
Result<void> check_answer_options(const po::variables_map& values);

/// Prints the answer and writes the files that were asked for; the exit status of the verdict, or of a user
/// who asked for the end while it was diagnosed. `counters`: of the ports, where they were read: what to
/// mend.
int answer(const po::variables_map& values, const Fabric& fabric, session::Sweep& sweep,
           ProgressLine& progress, std::stop_token stop, counters::CounterTable* counters = nullptr);

/// Of a run that the user ended: what is known by then, diagnosed at once; nothing where no probe has told
/// yet. The exit status of one who asked for the end.
int answer_interrupted(const po::variables_map& values, const Fabric& fabric, session::Sweep& sweep,
                       ProgressLine& progress, std::stop_token stop);

}  // namespace weft::cli
