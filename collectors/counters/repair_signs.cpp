#include "collectors/counters/repair_signs.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "collectors/counters/port_history.hpp"
#include "topology/base/statistics.hpp"

namespace weft::counters {
namespace {

constexpr std::size_t kMinPeers = 5;
constexpr double kNoLight = -40;         // dBm: where modules stop measuring (SFF-8636: 0.1 uW)
constexpr double kErrorsRose = 1;        // decades above peers
constexpr int kBeside = 4;               // ports on each side: of a module, a breakout, a card of eight
constexpr std::uint64_t kFewErrors = 5;  // a rate of fewer says more of how long they were counted
constexpr double kApart = 0.5;           // decades: what is nearer is alike

double dbm(double milliwatts) { return milliwatts > 1e-4 ? 10 * std::log10(milliwatts) : kNoLight; }

/// The least of a value over the lanes that have it.
std::optional<double> least(const ModuleState& module, std::optional<double> ModuleLane::*of) {
  std::optional<double> least;
  for (const ModuleLane& lane : module.lanes)
    if (lane.*of && (!least || *(lane.*of) < *least)) least = lane.*of;
  return least;
}

std::optional<double> in_dbm(std::optional<double> milliwatts) {
  return milliwatts ? std::optional(dbm(*milliwatts)) : std::nullopt;
}

/// All that grew in the windows of a series, and the seconds of these.
std::optional<Growth> grown(std::span<const SeriesHistory> of_port, PortCounter counter) {
  const auto found = std::ranges::find(of_port, CounterKey{.counter = counter}, &SeriesHistory::key);
  if (found == of_port.end() || found->windows.empty()) return std::nullopt;
  return growth(*found, found->windows.front().from, found->windows.back().to);
}

double seconds_of(const Growth& growth) { return std::chrono::duration<double>(growth.watched).count(); }

/// Decades, of what happens a second.
double rate_of(const Growth& growth) {
  return std::log10((static_cast<double>(growth.grew) + 0.5) / seconds_of(growth));
}

/// What the sources of a port tell of one counter: of those that agree the one that watched longest. Absent
/// where they contradict each other.
std::optional<Growth> agreed(const std::vector<Growth>& told) {
  const auto [least, most] = std::ranges::minmax_element(told, {}, rate_of);
  if (most->grew >= kFewErrors && rate_of(*most) - rate_of(*least) > kApart) return std::nullopt;
  return *std::ranges::max_element(told, {}, &Growth::watched);
}

}  // namespace

RepairSurvey::RepairSurvey(const Fabric& fabric, CounterTable& table) : fabric_(fabric), table_(table) {
  std::map<PortId, std::vector<Growth>> errors, events;  // by source
  each_history(fabric, table, [&](std::span<const SeriesHistory> of_port) {
    const PortId port = of_port.front().port;
    const auto bits = grown(of_port, PortCounter::fec_bits);
    if (const auto one = bits ? bits : grown(of_port, PortCounter::fec_corrected))
      errors[port].push_back(*one);
    if (const auto one = grown(of_port, PortCounter::link_events)) events[port].push_back(*one);
  });
  for (const auto& [port, told] : errors)
    if (const auto one = agreed(told)) {
      measured_[port].errors = rate_of(*one);
      measured_[port].few_errors = one->grew < kFewErrors;
    }
  for (const auto& [port, told] : events)
    if (const auto one = agreed(told))
      measured_[port].flaps = static_cast<double>(one->grew) / seconds_of(*one) * 86'400;
  for (const auto& [port, module] : table.modules) {
    Measured& one = measured_[port];
    one.sent = in_dbm(least(module.state, &ModuleLane::tx_mw));
    one.received = in_dbm(least(module.state, &ModuleLane::rx_mw));
    one.bias = least(module.state, &ModuleLane::bias_ma);
    one.celsius = module.state.celsius;
  }
}

std::string RepairSurvey::part_of(PortId port) const {
  const auto found = table_.modules.find(port);
  return found == table_.modules.end() ? "" : found->second.state.part;
}

std::optional<double> RepairSurvey::above_peers(PortId port, Value value) const {
  const auto own = measured_.find(port);
  if (own == measured_.end() || !(own->second.*value)) return std::nullopt;
  const std::string part = part_of(port);
  std::vector<double> alike, all;
  for (const auto& [other, measured] : measured_) {
    if (other == port || !(measured.*value)) continue;
    all.push_back(*(measured.*value));
    if (!part.empty() && part_of(other) == part) alike.push_back(all.back());
  }
  // Light, current and warmth differ from part to part; errors that are many are many at any.
  auto& peers = alike.size() < kMinPeers && value == &Measured::errors ? all : alike;
  if (peers.size() < kMinPeers) return std::nullopt;
  return *(own->second.*value) - median(peers);
}

std::optional<double> RepairSurvey::errors_above_peers(PortId port) const {
  const auto own = measured_.find(port);
  if (own == measured_.end() || own->second.few_errors) return std::nullopt;
  return above_peers(port, &Measured::errors);
}

std::optional<double> RepairSurvey::neighbours_bad(PortId port) const {
  const int number = fabric_.port(port).number.value();
  std::size_t told = 0, bad = 0;
  for (const PortId other : fabric_.ports_of(fabric_.port(port).node)) {
    const int beside = fabric_.port(other).number.value();
    if (other == port || std::abs(number - beside) > kBeside) continue;
    if (!above_peers(other, &Measured::errors)) continue;
    ++told;
    bad += errors_above_peers(other).value_or(0) > kErrorsRose ? 1 : 0;
  }
  if (told == 0) return std::nullopt;
  return static_cast<double>(bad) / static_cast<double>(told);
}

EndSigns RepairSurvey::end(PortId port) const {
  EndSigns signs{.sent_db = above_peers(port, &Measured::sent),
                 .received_db = above_peers(port, &Measured::received),
                 .celsius = above_peers(port, &Measured::celsius),
                 .errors = errors_above_peers(port),
                 .neighbours_bad = neighbours_bad(port)};
  const auto own = measured_.find(port);
  const auto above = above_peers(port, &Measured::bias);
  if (above && *own->second.bias > 0 && *own->second.bias > *above)
    signs.bias = std::log(*own->second.bias / (*own->second.bias - *above));
  if (const auto module = table_.modules.find(port); module != table_.modules.end())
    signs.touched = module->second.changed;
  return signs;
}

RepairSigns RepairSurvey::signs(ChannelId channel) const {
  const PortId from = fabric_.source(channel), to = fabric_.target(channel);
  RepairSigns signs{.from = end(from), .to = end(to)};
  for (const PortId port : {from, to}) {
    if (const auto found = measured_.find(port); found != measured_.end() && found->second.flaps)
      signs.flaps = std::max(signs.flaps.value_or(0), *found->second.flaps);
    if (const auto found = table_.modules.find(port); found != table_.modules.end())
      signs.one_part = signs.one_part || found->second.state.copper || found->second.state.aoc;
  }
  return signs;
}

std::vector<std::string> RepairSurvey::missing(ChannelId channel) const {
  std::vector<std::string> missing;
  for (const PortId port : {fabric_.source(channel), fabric_.target(channel)}) {
    const auto found = table_.modules.find(port);
    if (found == table_.modules.end())
      missing.push_back("the module at " + fabric_.name_of(port));
    else if (!found->second.state.copper && !above_peers(port, &Measured::received))
      missing.push_back("the light at " + fabric_.name_of(port) + " beside that of peers");
  }
  return missing;
}

std::optional<ChannelId> RepairSurvey::worse(LinkId link) const {
  const Link& cable = fabric_.link(link);
  const auto into = [&](PortId port) { return std::max(0.0, errors_above_peers(port).value_or(0)); };
  const double a = into(cable.a), b = into(cable.b);
  if (std::abs(a - b) < kApart) return std::nullopt;
  return fabric_.channel_into(a > b ? cable.a : cable.b);
}

}  // namespace weft::counters
