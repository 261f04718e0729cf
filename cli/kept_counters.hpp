// What a watch kept of counters of ports, from its database.
#pragma once

#include <optional>
#include <string_view>

#include "collectors/counters/counter_series.hpp"
#include "collectors/store/database.hpp"

namespace weft::cli {

struct KeptCounters {
  Fabric fabric;  // that was watched last
  counters::CounterTable table;
};

/// Of the readings of every two hours that have this word somewhere (empty: all); points in the order of
/// time. Absent: there are none, or what there is cannot be read.
std::optional<KeptCounters> kept_counters(store::Database& database, std::string_view word);

}  // namespace weft::cli
