#include "collectors/counters/counter_series.hpp"

#include <algorithm>
#include <cmath>
#include <ranges>
#include <tuple>
#include <utility>

#include "topology/base/outside_text.hpp"
#include "topology/base/whole_number.hpp"

namespace weft::counters {
namespace {

constexpr std::size_t kMaxRemark = 300;
constexpr std::size_t kMaxSources = 200'000;    // one a host and some; those beyond are taken as one
constexpr std::size_t kMaxEpochs = 4'000'000;   // some for each port; what is beyond says nothing
constexpr std::size_t kMaxExporters = 200'000;  // one a switch and some; those beyond are taken as one
constexpr double kTwoTo64 = 18446744073709551616.0;

constexpr std::uint32_t kNone = ~std::uint32_t{0};

}  // namespace

void Remarks::add(std::string_view remark) {
  ++count;
  if (first.size() < kMaxKept) first.push_back(outside_text(remark.substr(0, kMaxRemark)));
}

/// What one source has of a port is a chain: some 200 series at most, with all bins, lanes and priorities.
void CounterTable::chain(std::uint32_t series) {
  const CounterSeries& one = series_[series];
  const auto [first, is_new] =
      first_.try_emplace(std::uint64_t{one.port.value()} << 32U | one.source, series);
  next_.push_back(is_new ? kNone : std::exchange(first->second, series));
}

CounterSeries& CounterTable::at(PortId port, CounterKey key, std::uint32_t source) {
  if (next_.empty())
    for (std::uint32_t i = 0; i < series_.size(); ++i) chain(i);
  const auto first = first_.find(std::uint64_t{port.value()} << 32U | source);
  for (auto i = first == first_.end() ? kNone : first->second; i != kNone; i = next_[i])
    if (series_[i].key == key) return series_[i];
  series_.push_back({.port = port, .key = key, .source = source});
  chain(static_cast<std::uint32_t>(series_.size() - 1));
  return series_.back();
}

Result<void> CounterTable::add(CounterSeries& series, CounterPoint point) {
  if (points_ >= kMaxPoints)
    return fail(ErrorKind::invalid_input, "more than {} values: ask for fewer ports, or a shorter time",
                kMaxPoints);
  ++points_;
  series.points.push_back(point);
  return {};
}

std::uint32_t CounterTable::source(std::string_view name) {
  auto harmless = outside_text(name.substr(0, kMaxRemark));
  if (const auto found = source_numbers_.find(harmless); found != source_numbers_.end()) return found->second;
  if (sources_.size() >= kMaxSources) return static_cast<std::uint32_t>(sources_.size() - 1);
  const auto number = static_cast<std::uint32_t>(sources_.size());
  sources_.push_back(harmless);
  source_numbers_.emplace(std::move(harmless), number);
  return number;
}

std::uint32_t CounterTable::epoch(const EpochWords& words) {
  if (words == EpochWords()) return 0;
  if (const auto found = epochs_.find(words); found != epochs_.end()) return found->second;
  if (epochs_.size() >= kMaxEpochs) return 0;
  const bool knows_boot = !words.boot.empty() || !words.cleared.empty();
  const auto number = static_cast<std::uint32_t>(2 * (epochs_.size() + 1) + (knows_boot ? 1 : 0));
  epochs_.emplace(words, number);
  return number;
}

std::vector<EpochWords> CounterTable::epoch_words() const {
  std::vector<EpochWords> words(2 * (epochs_.size() + 1));
  for (const auto& [of, number] : epochs_) words[number] = of;
  return words;
}

std::uint32_t CounterTable::exporter(std::string_view name) {
  auto harmless = outside_text(name.substr(0, kMaxRemark));
  if (harmless.empty()) return 0;
  if (const auto found = exporter_numbers_.find(harmless); found != exporter_numbers_.end())
    return found->second;
  if (exporters_.size() > kMaxExporters) return static_cast<std::uint32_t>(exporters_.size() - 1);
  exporters_.push_back(harmless);
  const auto number = static_cast<std::uint32_t>(exporters_.size() - 1);
  exporter_numbers_.emplace(std::move(harmless), number);
  return number;
}

void CounterTable::sort() {
  std::ranges::sort(series_, {}, [](const CounterSeries& one) {
    return std::tuple(one.port.value(), one.source, one.key);
  });
  first_.clear();
  next_.clear();
}

void CounterTable::sort_points() {
  for (CounterSeries& one : series_) std::ranges::stable_sort(one.points, {}, &CounterPoint::at);
}

void CounterTable::fill_serials() {
  const auto words = epoch_words();
  if (std::ranges::all_of(words, [](const EpochWords& of) { return of.serial.empty(); })) return;
  const auto fill = [&](auto&& points) {
    std::uint32_t told = 0;
    for (CounterPoint& point : points) {
      const EpochWords &its = words[point.epoch], &last = words[told];
      if (!its.serial.empty())
        told = point.epoch;
      else if (!last.serial.empty() && its.boot == last.boot && its.cleared == last.cleared)
        point.epoch = told;
    }
  };
  for (CounterSeries& one : series_) {
    fill(one.points);
    fill(std::views::reverse(one.points));
  }
}

Result<PortId> port_named(const Fabric& fabric, std::string_view node, std::string_view port) {
  WEFT_TRY(const auto id, fabric.find_node(node));
  const auto ports = fabric.ports_of(id);
  if (port.empty() && fabric.is_host(id) && ports.size() == 1) return ports[0];
  const auto number = parse_whole_number<std::uint32_t>(port.starts_with('p') ? port.substr(1) : port);
  for (const PortId each : ports) {
    const Port& candidate = fabric.port(each);
    if (!candidate.name.empty() && candidate.name == port) return each;
    if (number && candidate.number.value() == *number) return each;
  }
  return fail(ErrorKind::not_found, "'{}' has no port '{}'{}", outside_text(node), outside_text(port),
              ports.empty() ? std::string() : fmt::format("; it has {}", fabric.name_of(ports[0])));
}

Result<std::uint64_t> count_of(double value) {
  if (!std::isfinite(value)) return fail(ErrorKind::invalid_input, "{} is no count", value);
  if (value < 0 || value >= kTwoTo64)
    return fail(ErrorKind::invalid_input, "{} is no count of 64 bits", value);
  if (value != std::floor(value))
    return fail(ErrorKind::invalid_input, "{} is a fraction: a rate, or no counter", value);
  return static_cast<std::uint64_t>(value);
}

}  // namespace weft::counters
