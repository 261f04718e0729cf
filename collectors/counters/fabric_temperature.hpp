// How warm the NICs of a fabric were over time, from the readings that a watch keeps: what corrects a
// comparison of its own history, or of two fabrics that are both watched. Pure.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "collectors/counters/counter_series.hpp"

namespace weft::counters {

using FabricTemperatures = std::map<Nanoseconds, double>;

/// Of each of these fabrics: degrees Celsius by time since 1970, one of every two hours: the median over
/// ports of the newest temperature of the NIC (or, where more ports of all fabrics have those, of the GPUs of
/// their hosts: the two are no one series), at the median of their times, so that no few sensors that are
/// wrong move it. Two hours in which fewer than half as many ports told as in the fullest are left out: they
/// may be the cooler half.
std::vector<FabricTemperatures> fabric_temperatures(std::span<const CounterTable> fabrics);

/// Linearly between the one before and the one behind; absent: these are more than four hours apart, or there
/// is only one of them, more than an hour away.
std::optional<double> temperature_at(const FabricTemperatures& temperatures, Nanoseconds at);

}  // namespace weft::counters
