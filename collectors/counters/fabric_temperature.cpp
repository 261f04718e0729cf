#include "collectors/counters/fabric_temperature.hpp"

#include <algorithm>
#include <chrono>
#include <set>
#include <vector>

#include "collectors/counters/port_warnings.hpp"

namespace weft::counters {
namespace {

constexpr Nanoseconds kMaxGap = 2 * kKeptEvery;
constexpr Nanoseconds kMaxAway = kKeptEvery / 2;

/// The lower of the two in the middle.
template <class T>
T median(std::vector<T> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// That which most ports report; NICs' own, where as many have either.
std::optional<double> Temperatures::*sensor_of(const CounterTable& table) {
  const auto ports_with = [&](std::optional<double> Temperatures::*sensor) {
    std::set<PortId> ports;
    for (const auto& [whose, told] : table.temperatures)
      if (std::ranges::any_of(told, [&](const auto& one) { return (one.celsius.*sensor).has_value(); }))
        ports.insert(whose.first);
    return ports.size();
  };
  return ports_with(&Temperatures::gpu) > ports_with(&Temperatures::device) ? &Temperatures::gpu
                                                                            : &Temperatures::device;
}

}  // namespace

std::map<Nanoseconds, double> fabric_temperatures(const CounterTable& table) {
  std::map<Nanoseconds, std::map<PortId, PortTemperatures>> newest;
  const auto sensor = sensor_of(table);
  for (const auto& [whose, told] : table.temperatures)
    for (const PortTemperatures& one : told) {
      if (!(one.celsius.*sensor)) continue;
      auto& known = newest[one.at - one.at % kKeptEvery].try_emplace(whose.first, one).first->second;
      if (known.at < one.at) known = one;
    }
  std::size_t most = 0;
  for (const auto& [begin, ports] : newest) most = std::max(most, ports.size());
  std::map<Nanoseconds, double> temperatures;
  for (const auto& [begin, ports] : newest) {
    if (2 * ports.size() < most) continue;
    std::vector<Nanoseconds> times;
    std::vector<double> values;
    for (const auto& [port, one] : ports) times.push_back(one.at), values.push_back(*(one.celsius.*sensor));
    temperatures.emplace(median(std::move(times)), median(std::move(values)));
  }
  return temperatures;
}

std::optional<double> temperature_at(const std::map<Nanoseconds, double>& temperatures, Nanoseconds at) {
  const auto behind = temperatures.lower_bound(at);
  const bool is_last = behind == temperatures.end(), is_first = behind == temperatures.begin();
  if (is_last && is_first) return std::nullopt;  // there are none
  if (is_last || is_first) {
    const auto& [time, celsius] = is_last ? *std::prev(behind) : *behind;
    return std::chrono::abs(at - time) <= kMaxAway ? std::optional(celsius) : std::nullopt;
  }
  const auto& [from, celsius] = *std::prev(behind);
  const auto gap = behind->first - from;
  if (gap > kMaxGap) return std::nullopt;
  const double share = static_cast<double>((at - from).count()) / static_cast<double>(gap.count());
  return celsius + share * (behind->second - celsius);
}

}  // namespace weft::counters
