// Readings of port counters over time, from whatever source, at the ports of a fabric: what every reader of
// switches' and NICs' counters fills, and what the history of a port (port_history.hpp) is made of. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "collectors/counters/port_counter.hpp"
#include "topology/findings/nic_reading.hpp"
#include "topology/model/fabric.hpp"

namespace weft::counters {

/// One reading. `epoch`: what its source says of when counting began and of what is plugged in, as a number
/// of CounterTable::epoch; readings of two epochs are of two counters. 0: nothing is said.
struct CounterPoint {
  Nanoseconds at{};  // since 1970, on the clock of its source
  std::uint64_t value = 0;
  std::uint32_t epoch = 0;
  friend bool operator==(const CounterPoint&, const CounterPoint&) = default;
};

/// Whether readings of that epoch are of one count: what is plugged in alone says nothing of restarts.
constexpr bool knows_boot(std::uint32_t epoch) { return epoch % 2 == 1; }

/// One counter of one port by one source; points as they were read.
struct CounterSeries {
  PortId port;
  CounterKey key;
  std::uint32_t source = 0;    // of CounterTable::sources
  std::uint32_t exporter = 0;  // of CounterTable::exporter; 0: it is not told
  bool narrow = false;         // 32 bits, as its source says
  std::vector<CounterPoint> points = {};
};

/// What a source says with a reading, each empty where it does not.
struct EpochWords {
  std::string boot;     // the boot of the device
  std::string cleared;  // when its counters were cleared
  std::string serial;   // of the module or cable
  friend auto operator<=>(const EpochWords&, const EpochWords&) = default;
};

/// What was passed over, a sentence each, the first of them; and how many there were.
struct Remarks {
  static constexpr std::size_t kMaxKept = 20;
  std::vector<std::string> first;
  std::size_t count = 0;
  /// `remark` becomes such as may be shown.
  void add(std::string_view remark);
};

/// The module in a port, as its newest reading tells.
struct PortModule {
  Nanoseconds at{};
  ModuleState state;
  std::map<std::uint32_t, std::string> serials = {};  // the last that each source told
  std::optional<bool> changed = std::nullopt;  // whether a source told two; absent: none told one twice
};

/// The NIC at a port, as the newest reading of its own host tells; empty or absent where that does not.
struct PortDevice {
  Nanoseconds at{};
  std::string driver, firmware, pci;
  std::string id, interface;  // PCI vendor and device ("15b3:101d"); what its host calls it
  std::string agent;          // the version of the agent that told
  std::optional<Bandwidth> speed = std::nullopt;  // of the link
};

/// Temperatures in and at a port, as one source told them at a time.
struct PortTemperatures {
  Nanoseconds at{};  // since 1970, on the clock of the source
  Temperatures celsius;
  friend bool operator==(const PortTemperatures&, const PortTemperatures&) = default;
};

/// The mode of forward error correction in use, as its newest reading tells: "RS", "BaseR", "off".
struct PortFec {
  Nanoseconds at{};
  std::string mode;
};

class CounterTable {
 public:
  /// More points than that are refused: 24 bytes each. 147,456 ports have 25 counters, 10 times each.
  static constexpr std::size_t kMaxPoints = 40'000'000;

  /// The series of that port, counter and source, made where there is none. A view: the next call ends it.
  CounterSeries& at(PortId port, CounterKey key, std::uint32_t source);
  /// Error (invalid_input): the table is full.
  Result<void> add(CounterSeries& series, CounterPoint point);
  std::uint32_t source(std::string_view name);
  std::uint32_t epoch(const EpochWords& words);
  /// By number; of 0, empty ones.
  std::vector<EpochWords> epoch_words() const;
  /// The program that tells of a series, all of whose counters may be false together.
  std::uint32_t exporter(std::string_view name);
  const std::string& exporter_name(std::uint32_t exporter) const { return exporters_[exporter]; }

  const std::vector<CounterSeries>& series() const { return series_; }
  const std::string& source_name(std::uint32_t source) const { return sources_[source]; }
  std::size_t source_count() const { return sources_.size(); }
  std::size_t points() const { return points_; }
  bool empty() const { return points_ == 0; }
  /// The series in the order of port, source, counter: those of one port by one source stand side by side.
  void sort();
  /// The points of each series in the order of time, where they were added from several files: that they were
  /// not says nothing of a clock then.
  void sort_points();
  /// A reading that does not say which module was in the port is of the one that the same source told before
  /// it, else behind it, under the same boot and clear time: modules are read more seldom than counters.
  void fill_serials();

  std::map<PortId, PortModule> modules;
  std::map<PortId, PortFec> fec_modes;
  std::map<PortId, PortDevice> devices;
  std::map<std::pair<PortId, std::uint32_t>, std::vector<PortTemperatures>>
      temperatures;  // by port and source
  Remarks unplaced;  // series that no port of the fabric has
  Remarks doubled;   // two for one counter of one port
  Remarks refused;   // values and lines that cannot be

 private:
  void chain(std::uint32_t series);
  std::vector<CounterSeries> series_;
  std::unordered_map<std::uint64_t, std::uint32_t> first_;  // series of a port and source
  std::vector<std::uint32_t> next_;  // by series: another of its port and source; empty: to be made anew
  std::vector<std::string> sources_;
  std::unordered_map<std::string, std::uint32_t> source_numbers_;
  std::map<EpochWords, std::uint32_t> epochs_;
  std::vector<std::string> exporters_{""};
  std::unordered_map<std::string, std::uint32_t> exporter_numbers_;
  std::size_t points_ = 0;
};

/// The port of a switch, or the NIC of a host, by the names that sources have: `node` and the port's name or
/// number; of a host without a port its only NIC. Interfaces as Linux has them are those of a switch whose
/// port is called so. Error (not_found).
Result<PortId> port_named(const Fabric& fabric, std::string_view node, std::string_view port);

/// A count out of a number that came as a floating-point one. Error (invalid_input): not a number, negative,
/// infinite, a fraction (a rate, or a value that was interpolated), above 2^64. Above 2^53 it is rounded, as
/// its source did.
Result<std::uint64_t> count_of(double value);

}  // namespace weft::counters
