// Counter readings out of what perfquery and ibqueryerrors print, as operators keep it: their lines in any
// order and mixture, with others between them.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "collectors/counters/counter_reading.hpp"

namespace weft::counters {

/// One port as the text names it: perfquery has its LID, ibqueryerrors the GUID of its node or its own.
struct CounterEntry {
  std::optional<Lid> lid = std::nullopt;
  std::optional<Guid> guid = std::nullopt;
  std::uint32_t port = 0;
  mad::IbCounters values{};
  bool has_traffic = false;  // what it sent was told: waiting can be held against it
};

struct CounterText {
  std::vector<CounterEntry> entries;
  std::vector<std::string> remarks;  // what was passed over, a sentence each
};

/// Error: no reading in it.
Result<CounterText> parse_counter_text(std::string_view text);

/// Which GUID a LID is held by: of a switch its node's, of an adapter its port's.
using GuidOfLid = std::map<Lid, Guid>;

/// The readings at the ports of a fabric that has GUIDs; of several of one port (perfquery, then perfquery
/// -x) the largest value of each counter. A remark for each that has no place in it. Error: none has.
Result<CounterReading> place_counters(const Fabric& fabric, CounterText& text, const GuidOfLid& lids);

}  // namespace weft::counters
