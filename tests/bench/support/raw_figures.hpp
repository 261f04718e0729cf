// The raw engine's figures, measured in network namespaces of their own: two hosts and two routers. Needs
// root.
#pragma once

#include "topology/base/result.hpp"

namespace weft::bench {

struct RawFigures {
  double raw_probes_per_s = 0;  // answered hop probes (TTL 1), one prober thread, full matching
  double pathmap_pair_ms = 0;   // one pair, 64 labels, 3 hops, every hop answered: the median of 21 traces
  double raw_echoes_per_s = 0;  // answered pings of 128 bytes across both routers, one prober, one responder
};

Result<RawFigures> measure_raw();

}  // namespace weft::bench
