// Readings of port counters in the database of a watch: a row is what all sources told in two hours.
#pragma once

#include <map>
#include <string>

#include "collectors/store/database.hpp"
#include "topology/base/units.hpp"

namespace weft::store {

/// Text (weft.counters/1) by the begin of its time, since 1970.
Result<std::map<Nanoseconds, std::string>> kept_counter_readings(Database& database);

/// In place of those of the same time; all that begin before `from` or after `until` go. All of it, or
/// nothing.
Result<void> keep_counter_readings(Database& database, const std::map<Nanoseconds, std::string>& texts,
                                   Nanoseconds from, Nanoseconds until);

}  // namespace weft::store
