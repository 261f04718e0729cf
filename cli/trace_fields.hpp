// `weft trace --fields`: which fields of a packet move its path between two NICs.
#pragma once

#include "cli/trace_place.hpp"

namespace weft::cli {

/// The exit status of its answer: unknown where a field's is. `words` must outlive the trace. Errors:
/// not_found, usage (no path to choose, no address).
StartTrace start_fields(const TraceWords& words);

}  // namespace weft::cli
