#include "collectors/counters/fabric_temperature.hpp"

#include <algorithm>
#include <chrono>
#include <set>

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

using Sensor = std::optional<double> Temperatures::*;

std::size_t ports_with(Sensor sensor, const CounterTable& table) {
  std::set<PortId> ports;
  for (const auto& [whose, told] : table.temperatures)
    if (std::ranges::any_of(told, [&](const auto& one) { return (one.celsius.*sensor).has_value(); }))
      ports.insert(whose.first);
  return ports.size();
}

/// That which most ports report; NICs' own, where as many have either.
Sensor sensor_of(std::span<const CounterTable> fabrics) {
  std::size_t gpus = 0, nics = 0;
  for (const CounterTable& table : fabrics)
    gpus += ports_with(&Temperatures::gpu, table), nics += ports_with(&Temperatures::device, table);
  return gpus > nics ? &Temperatures::gpu : &Temperatures::device;
}

FabricTemperatures temperatures_of(const CounterTable& table, Sensor sensor) {
  std::map<Nanoseconds, std::map<PortId, PortTemperatures>> newest;
  for (const auto& [whose, told] : table.temperatures)
    for (const PortTemperatures& one : told) {
      if (!(one.celsius.*sensor)) continue;
      auto& known = newest[one.at - one.at % kKeptEvery].try_emplace(whose.first, one).first->second;
      if (known.at < one.at) known = one;
    }
  std::size_t most = 0;
  for (const auto& [begin, ports] : newest) most = std::max(most, ports.size());
  FabricTemperatures temperatures;
  for (const auto& [begin, ports] : newest) {
    if (2 * ports.size() < most) continue;
    std::vector<Nanoseconds> times;
    std::vector<double> values;
    for (const auto& [port, one] : ports) times.push_back(one.at), values.push_back(*(one.celsius.*sensor));
    temperatures.emplace(median(std::move(times)), median(std::move(values)));
  }
  return temperatures;
}

}  // namespace

std::vector<FabricTemperatures> fabric_temperatures(std::span<const CounterTable> fabrics) {
  const Sensor sensor = sensor_of(fabrics);
  std::vector<FabricTemperatures> all;
  for (const CounterTable& table : fabrics) all.push_back(temperatures_of(table, sensor));
  return all;
}

std::optional<double> temperature_at(const FabricTemperatures& temperatures, Nanoseconds at) {
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
