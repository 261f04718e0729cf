#include "collectors/counters/host_counters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "collectors/counters/nic_names.hpp"
#include "collectors/counters/port_warnings.hpp"

namespace weft::counters {
namespace {

constexpr Nanoseconds kSaidEvery = std::chrono::hours(1);
constexpr std::size_t kMaxReadings = 6;  // of a host: boots and modules that change within two hours

/// What a watch looks at later, or shows. A reading without modules is of those before it, `modules`, under
/// the same boot.
CounterTable kept_part(const CounterTable& read, std::map<PortId, EpochWords>& modules) {
  CounterTable kept;
  const auto words = read.epoch_words();
  for (const CounterSeries& series : read.series()) {
    if (!is_kept(series.key.counter)) continue;
    CounterSeries& into = kept.at(series.port, series.key, kept.source(read.source_name(series.source)));
    for (const CounterPoint& point : series.points) {
      EpochWords epoch = words[point.epoch];
      EpochWords& before = modules[series.port];
      if (epoch.serial.empty() && epoch.boot == before.boot) epoch.serial = before.serial;
      before = epoch;
      // A table that was not full has no part that is.
      static_cast<void>(kept.add(into, {point.at, point.value, kept.epoch(epoch)}));
    }
  }
  for (const auto& [whose, told] : read.temperatures)
    kept.temperatures[{whose.first, kept.source(read.source_name(whose.second))}] = told;
  return kept;
}

std::string epochs_of(const CounterTable& read) {
  std::set<std::pair<PortId, std::uint32_t>> ports;
  for (const CounterSeries& series : read.series())
    for (const CounterPoint& point : series.points) ports.emplace(series.port, point.epoch);
  const auto words = read.epoch_words();
  std::string all;
  for (const auto& [port, epoch] : ports)
    all += fmt::format("{} {} {}\n", port.value(), words[epoch].boot, words[epoch].serial);
  return all;
}

Nanoseconds newest_of(const CounterTable& read) {
  Nanoseconds newest{};
  for (const CounterSeries& series : read.series())
    for (const CounterPoint& point : series.points) newest = std::max(newest, point.at);
  for (const auto& [whose, told] : read.temperatures)
    for (const PortTemperatures& one : told) newest = std::max(newest, one.at);
  return newest;
}

Nanoseconds two_hours_of(Nanoseconds at) { return at - at % kKeptEvery; }

}  // namespace

std::string host_source(std::string_view host) { return fmt::format("agent {}", host); }

std::string host_text(const std::string& boot, const std::vector<NicAt>& nics, const std::string& agent) {
  std::vector<NicAt> told = nics;
  for (NicAt& nic : told) {
    nic.reading.pcie.clear();
    nic.reading.not_read.clear();
    if (nic.reading.module) nic.reading.module->diagnostics.clear();
  }
  return nic_lines("", boot, told, agent);
}

bool ReportedOfHost::changes(const std::vector<NicAt>& nics) {
  bool any = false;
  const auto take = [&](std::map<std::string, std::string>& of, const std::string& what,
                        const std::string& now) {
    std::string& before = of[what];
    any |= std::exchange(before, now) != now;
  };
  for (const NicAt& nic : nics) {
    auto& of = told_[nic.port];
    const NicReading& reading = nic.reading;
    take(of, "driver", reading.driver);
    take(of, "firmware", reading.firmware);
    take(of, "pci", reading.pci.value_or(""));
    take(of, "speed", reading.speed ? fmt::to_string(reading.speed->bits_per_second()) : "");
    take(of, "fec", reading.fec.value_or(""));
    if (reading.module)
      take(of, "module", reading.module->vendor + ' ' + reading.module->part + ' ' + reading.module->serial);
    for (const auto& [key, count] : nic_counts(reading)) {
      using enum PortCounter;
      if (key.counter == fec_uncorrectable || key.counter == fcs_errors || key.counter == link_events)
        take(of, to_string(key), std::to_string(count.value));
    }
  }
  return any;
}

std::string device_change(const PortDevice& before, const PortDevice& now) {
  std::string all;
  const auto say = [&](std::string_view what, const std::string& was, const std::string& is) {
    if (was != is && !was.empty() && !is.empty())
      all += fmt::format("{}{} {} instead of {}", all.empty() ? "" : ", ", what, is, was);
  };
  const auto gigabits = [](const PortDevice& one) {
    return one.speed ? fmt::format("{:g} Gb/s", one.speed->bits_per_second() / 1e9) : std::string();
  };
  say("driver", before.driver, now.driver);
  say("firmware", before.firmware, now.firmware);
  say("PCIe address", before.pci, now.pci);
  say("speed", gigabits(before), gigabits(now));
  return all;
}

std::vector<std::string> HostCounters::note_devices(const Fabric& fabric, Host& host,
                                                    const CounterTable& read, Nanoseconds now) {
  std::vector<std::string> changes;
  for (const auto& [port, device] : read.devices) {
    const auto [known, is_new] = host.devices.try_emplace(port, device);
    const auto change = device_change(known->second, device);
    PortDevice& before = known->second;
    for (const auto field : {&PortDevice::driver, &PortDevice::firmware, &PortDevice::pci, &PortDevice::id,
                             &PortDevice::interface})
      if (!(device.*field).empty()) before.*field = device.*field;
    if (device.speed) before.speed = device.speed;  // a link that is down has none
    before.at = device.at, before.agent = device.agent;
    if (!is_new && !change.empty()) changes.push_back(fmt::format("{}: {}", fabric.name_of(port), change));
  }
  if (changes.empty() ||
      (host.reported_at && *host.reported_at <= now && now - *host.reported_at < kSaidEvery))
    return {};
  host.reported_at = now;
  return changes;
}

Result<std::vector<std::string>> HostCounters::take(const Fabric& fabric, const HostPorts& own,
                                                    std::string_view text, Nanoseconds now) {
  CounterTable read;
  WEFT_TRY_VOID(read_host_counters(fabric, own, text, now, read));
  Host& host = hosts_[own.source];
  const CounterTable kept = kept_part(read, host.epochs);
  Reading reading{newest_of(kept), write_counter_file(fabric, kept), epochs_of(kept)};
  auto& all = host.readings;
  // Of one that was told late, or whose clock went back, nothing is known that is not known already.
  const bool is_late = !all.empty() && reading.at <= all.back().at && all.back().at <= now;
  if (is_late || reading.at == Nanoseconds()) return std::vector<std::string>();
  std::erase_if(all, [&](const Reading& one) { return one.at > now; });
  // Older ones are kept for days: one of them is where the next window begins.
  while (all.size() > 1 && two_hours_of(all[1].at) < two_hours_of(reading.at)) all.erase(all.begin());
  const bool is_same =
      all.size() > 1 && all.back().epochs == reading.epochs && all[all.size() - 2].epochs == reading.epochs;
  if (is_same) all.pop_back();
  all.push_back(std::move(reading));
  if (all.size() > kMaxReadings) all.erase(all.begin());
  auto changes = note_devices(fabric, host, read, now);
  for (auto& [port, module] : read.modules) host.modules.insert_or_assign(port, std::move(module));
  for (auto& [port, fec] : read.fec_modes) host.fec_modes.insert_or_assign(port, std::move(fec));
  return changes;
}

std::vector<HostCounters::NicOfHost> HostCounters::nics_of(const std::string& source) const {
  std::vector<NicOfHost> nics;
  const auto host = hosts_.find(source);
  if (host == hosts_.end()) return nics;
  for (const auto& [port, device] : host->second.devices) {
    const auto module = host->second.modules.find(port);
    nics.push_back(
        {port, device, module == host->second.modules.end() ? ModuleState() : module->second.state});
  }
  return nics;
}

void HostCounters::add_to(const Fabric& fabric, Nanoseconds now, CounterTable& into) const {
  for (const auto& [source, host] : hosts_) {
    for (const Reading& one : host.readings)  // what it says of lines is said of what was read before
      static_cast<void>(read_counter_file(fabric, one.text, source, "", now, into));
    for (const auto& [port, module] : host.modules)
      if (PortModule& known = into.modules[port]; known.at <= module.at) known = module;
    for (const auto& [port, fec] : host.fec_modes)
      if (PortFec& known = into.fec_modes[port]; known.at <= fec.at) known = fec;
  }
}

}  // namespace weft::counters
