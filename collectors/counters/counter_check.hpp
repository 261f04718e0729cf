// Whether the counters of a fabric are where they should be: which of its ports have which, what belongs to
// no port, and what cannot be. Pure.
#pragma once

#include <string>
#include <vector>

#include "collectors/counters/port_history.hpp"

namespace weft::counters {

/// What one source has.
struct SourceCheck {
  std::string source;
  std::vector<std::pair<PortCounter, std::size_t>> ports;  // which counters, and of how many ports
  std::size_t ports_in_all = 0;
  std::size_t with_window = 0;  // of these, with two readings that can be compared
};

struct CounterCheck {
  std::size_t ports = 0;  // of the fabric, those with a cable
  std::vector<SourceCheck> sources;
  std::vector<PortId> without;  // ports of switches of which no source tells; without evidence of errors, too
  std::size_t of_one_exporter = 0;    // ports of which one exporter alone tells: that names no link by itself
  StepsLeftOut left_out;              // of all series
  std::vector<std::string> troubles;  // a sentence each: units that cannot be, wrong ports, contradictions
};

/// The table is sorted.
CounterCheck check_counters(const Fabric& fabric, CounterTable& table);

/// For people, in lines of `width`; the remarks of the table with it.
std::string check_text(const Fabric& fabric, const CounterTable& table, const CounterCheck& check,
                       std::size_t width);
/// Every port of a switch has counters, every series a port, and nothing cannot be.
bool all_is_well(const CounterTable& table, const CounterCheck& check);

}  // namespace weft::counters
