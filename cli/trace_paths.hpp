// `weft trace --every-path`: all paths of one pair of NICs, or of many, by asking only the hops that decide.
#pragma once

#include "cli/trace_place.hpp"

namespace weft::cli {

/// The exit status of its answer: unknown where not all paths of the fabric were seen. `words` must outlive
/// the trace. Errors: not_found, usage (no address, too many pairs).
StartTrace start_every_path(const TraceWords& words);

}  // namespace weft::cli
