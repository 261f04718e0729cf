#include "collectors/counters/counter_series.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "topology/base/outside_text.hpp"
#include "topology/base/whole_number.hpp"

namespace weft::counters {
namespace {

constexpr std::size_t kMaxRemark = 300;
constexpr std::uint32_t kMaxSources = 1024;    // more are one: a name is looked for among them for each line
constexpr std::size_t kMaxEpochs = 4'000'000;  // some for each port; what is beyond says nothing
constexpr double kTwoTo64 = 18446744073709551616.0;

std::uint64_t id_of(PortId port, CounterKey key, std::uint32_t source) {
  const std::uint64_t index = key.index ? *key.index + 1U : 0U;
  return std::uint64_t{port.value()} << 32U | std::uint64_t{source & 0xffffU} << 16U |
         static_cast<std::uint64_t>(key.counter) << 8U | index;
}

}  // namespace

void Remarks::add(std::string_view remark) {
  ++count;
  if (first.size() < kMaxKept) first.push_back(outside_text(remark.substr(0, kMaxRemark)));
}

CounterSeries& CounterTable::at(PortId port, CounterKey key, std::uint32_t source) {
  const auto [found, is_new] =
      found_.try_emplace(id_of(port, key, source), static_cast<std::uint32_t>(series_.size()));
  if (is_new) series_.push_back({.port = port, .key = key, .source = source});
  return series_[found->second];
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
  const auto harmless = outside_text(name.substr(0, kMaxRemark));
  const auto found = std::ranges::find(sources_, harmless);
  if (found != sources_.end()) return static_cast<std::uint32_t>(found - sources_.begin());
  if (sources_.size() >= kMaxSources) return static_cast<std::uint32_t>(sources_.size() - 1);
  sources_.push_back(harmless);
  return static_cast<std::uint32_t>(sources_.size() - 1);
}

std::uint32_t CounterTable::epoch(const EpochWords& words) {
  if (words == EpochWords()) return 0;
  if (const auto found = epochs_.find(words); found != epochs_.end()) return found->second;
  if (epochs_.size() >= kMaxEpochs) return 0;
  const auto number = static_cast<std::uint32_t>(epochs_.size() + 1);
  epochs_.emplace(words, number);
  return number;
}

void CounterTable::sort() {
  std::ranges::sort(series_, {}, [](const CounterSeries& one) {
    return std::tuple(one.port.value(), one.source, one.key);
  });
  found_.clear();
  for (std::uint32_t i = 0; i < series_.size(); ++i)
    found_.emplace(id_of(series_[i].port, series_[i].key, series_[i].source), i);
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
