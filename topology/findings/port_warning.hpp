// What counters of ports say beside the incidents of probes: ports whose corrected errors rise towards loss,
// and ports that counted errors. For people and programs that look on; no verdict comes from it. Plain
// values: made by collectors, shown by the page and the metrics.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "topology/base/ids.hpp"
#include "topology/base/units.hpp"

namespace weft {

struct PortWarning {
  PortId port;
  bool degrading = false;  // else it counted errors in the last day
  std::string text;        // value and window
  std::string source;      // who says so
  Nanoseconds at{};        // of its newest reading, since 1970: whoever shows it tells its age
  double errors = 0;       // in the window; of a degrading port the rate of bits before correction
  struct Days {
    double days = 0, low = 0;
    std::optional<double> high = std::nullopt;  // absent: the rise may end, too
  };
  std::optional<Days> loss = std::nullopt;  // until frames are lost; absent: no forecast
};

struct PortWarnings {
  std::vector<PortWarning> ports;  // those that degrade first, by days to loss
  std::size_t told = 0;            // ports that tell of corrected errors for a day
  Nanoseconds at{};                // when counters were read last; zero: not yet
  std::string trouble;             // why they could not be read since
};

}  // namespace weft
