// What `weft counters` answers as documents for programs (docs/schema). Pure.
#pragma once

#include <string>

#include "collectors/counters/corrected_trend.hpp"
#include "collectors/counters/counter_check.hpp"
#include "collectors/counters/pause_origin.hpp"
#include "topology/files/document.hpp"

namespace weft::counters {

/// weft.counter_check/1.
std::string check_json(const Fabric& fabric, const CounterTable& table, const CounterCheck& check,
                       const files::DocumentStamp& stamp);

/// weft.port_trends/1: those that degrade, those that lose, those above `limit` (log10 of a bit error rate);
/// the others as a number.
std::string trends_json(const Fabric& fabric, const CounterTable& table, const PortTrends& found,
                        const files::DocumentStamp& stamp, double limit = kLossAt);

/// weft.pauses/1: of each priority of which a port tells, who began.
std::string pauses_json(const Fabric& fabric, const PortPauses& pauses, const files::DocumentStamp& stamp);

}  // namespace weft::counters
