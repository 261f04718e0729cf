#include "collectors/counters/port_warnings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "collectors/counters/corrected_trend.hpp"
#include "collectors/counters/counter_file.hpp"
#include "collectors/counters/counter_observations.hpp"
#include "topology/base/instant.hpp"

namespace weft::counters {
namespace {

constexpr Nanoseconds kDay = std::chrono::hours(24);

PortWarning warning_of(const PortTrend& one, const CounterTable& table) {
  const CorrectedTrend& trend = one.trend;
  PortWarning warning{
      .port = one.port,
      .degrading = true,
      .text = fmt::format("corrected errors rise by {:.2f} decades a day since {}: {:.1e} of bits, {:.1f} "
                          "decades above its own usual, {:.1f} above peers",
                          trend.a_day, instant_text(std::chrono::floor<std::chrono::minutes>(trend.since)),
                          std::pow(10, trend.now), trend.now - trend.usual, one.beside_peers),
      .source = table.source_name(one.source),
      .at = trend.at,
      .errors = std::pow(10, trend.now)};
  if (one.tail) warning.text += "; " + tail_text(*one.tail);
  if (trend.loss) warning.loss = {trend.loss->days, trend.loss->low, trend.loss->high};
  return warning;
}

struct Counted {
  ChannelCount sum;
  Nanoseconds from{}, to{};
};

/// Errors of the last day of each source, of cables.
std::vector<Counted> counted_lately(const std::vector<ChannelCount>& counts) {
  std::map<std::tuple<std::uint32_t, CounterKind, std::string>, Counted> sums;
  std::map<std::tuple<std::uint32_t, CounterKind, std::string>, Nanoseconds> newest;
  const auto key = [](const ChannelCount& one) {
    return std::tuple(one.channel.value(), one.kind, one.source);
  };
  for (const ChannelCount& one : counts) newest[key(one)] = std::max(newest[key(one)], one.end);
  for (const ChannelCount& one : counts) {
    const Nanoseconds last = newest[key(one)];
    if (one.errors == 0 || one.kind == CounterKind::discards || one.end <= last - kDay) continue;
    auto& [sum, from, to] = sums.try_emplace(key(one), Counted{one, one.begin, last}).first->second;
    if (one.end != sum.end) sum.errors += one.errors, sum.exposure += one.exposure;
    from = std::min(from, one.begin);
  }
  std::vector<Counted> found;
  for (auto& [of, one] : sums) found.push_back(std::move(one));
  std::ranges::stable_sort(found, std::greater(), [](const Counted& one) { return one.sum.errors; });
  return found;
}

PortWarning warning_of(const Fabric& fabric, const Counted& one) {
  const auto window = std::chrono::duration<double, std::ratio<3600>>(one.to - one.from).count();
  return {.port = fabric.target(one.sum.channel),
          .text = fmt::format("{} errors of {:.1e} {} in {:.3g} h", one.sum.errors, one.sum.exposure,
                              to_string(one.sum.kind), window),
          .source = one.sum.source,
          .at = one.to,
          .errors = static_cast<double>(one.sum.errors)};
}

}  // namespace

bool is_kept(PortCounter counter) {
  using enum PortCounter;
  return counter == fec_corrected || counter == fec_bits || counter == fec_codewords ||
         counter == fec_uncorrectable || counter == link_events || counter == fcs_errors ||
         counter == frames_in;
}

PortWarnings port_warnings(const Fabric& fabric, CounterTable& table, Nanoseconds now) {
  const PortTrends trends = port_trends(fabric, table);
  PortWarnings found{.told = trends.told, .at = now};
  for (const PortTrend& one : trends.trends)
    if (one.trend.degrading) found.ports.push_back(warning_of(one, table));
  for (const Counted& one : counted_lately(channel_counts(fabric, table)))
    found.ports.push_back(warning_of(fabric, one));
  std::erase_if(found.ports, [&](const PortWarning& one) { return now - one.at > 2 * kKeptEvery; });
  return found;
}

/// The newest one of every two hours, by their begin.
template <class Points>
static auto newest_of_each(const Points& points, Nanoseconds from) {
  std::map<Nanoseconds, const typename Points::value_type*> newest;
  for (const auto& point : points) {
    const Nanoseconds begin = point.at - point.at % kKeptEvery;
    if (begin < from) continue;
    auto& last = newest[begin];
    if (last == nullptr || last->at < point.at) last = &point;
  }
  return newest;
}

std::map<Nanoseconds, std::string> readings_to_keep(const Fabric& fabric, const CounterTable& table,
                                                    Nanoseconds from) {
  std::map<Nanoseconds, CounterTable> parts;
  const auto words = table.epoch_words();
  for (const auto& [whose, told] : table.temperatures)
    for (const auto& [begin, one] : newest_of_each(told, from)) {
      CounterTable& part = parts[begin];
      part.temperatures[{whose.first, part.source(table.source_name(whose.second))}] = {*one};
    }
  for (const CounterSeries& series : table.series()) {
    if (!is_kept(series.key.counter)) continue;
    for (const auto& [begin, point] : newest_of_each(series.points, from)) {
      CounterTable& part = parts[begin];
      CounterSeries& kept = part.at(series.port, series.key, part.source(table.source_name(series.source)));
      // A table that was not full has no part that is.
      static_cast<void>(part.add(kept, {point->at, point->value, part.epoch(words[point->epoch])}));
    }
  }
  std::map<Nanoseconds, std::string> texts;
  for (const auto& [begin, part] : parts) texts.emplace(begin, write_counter_file(fabric, part));
  return texts;
}

std::vector<ModuleChange> module_changes(const CounterTable& table) {
  const auto words = table.epoch_words();
  std::map<std::pair<PortId, std::uint32_t>, std::map<Nanoseconds, std::string>> told;  // by port and source
  for (const CounterSeries& series : table.series())
    for (const CounterPoint& point : series.points)
      if (const std::string& serial = words[point.epoch].serial; !serial.empty())
        told[{series.port, series.source}].emplace(point.at, serial);
  std::map<PortId, ModuleChange> last;
  for (const auto& [whose, serials] : told) {
    const std::pair<const Nanoseconds, std::string>* before = &*serials.begin();
    std::optional<ModuleChange> change;
    for (const auto& one : serials) {
      if (one.second != before->second)
        change = {whose.first, before->second, one.second, before->first, one.first};
      before = &one;
    }
    if (!change || before->second == serials.begin()->second) continue;
    // Two sources that tell of one change see it at their next reading each.
    const auto [known, is_new] = last.emplace(whose.first, *change);
    const bool is_same = known->second.after == change->after;
    if (!is_new && (is_same ? change->at < known->second.at : change->at > known->second.at))
      known->second = *change;
  }
  std::vector<ModuleChange> all;
  for (auto& [port, change] : last) all.push_back(std::move(change));
  return all;
}

}  // namespace weft::counters
