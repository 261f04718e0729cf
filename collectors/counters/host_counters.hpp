// What standing agents tell of the NICs of their hosts: how it is written, when it is worth telling, and what
// a watcher keeps of it. Text is weft.counters/1 (counter_file.hpp), in which ports are addresses of NICs.
// Pure; not thread-safe.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "collectors/counters/counter_file.hpp"
#include "collectors/counters/nic_text.hpp"

namespace weft::counters {

/// Under which a watch shows what this host told.
std::string host_source(std::string_view host);

/// What an agent tells: counters, driver, firmware, PCIe address, speed, FEC, module and temperatures.
/// NicAt::port is the NIC's address; `agent`: its own version.
std::string host_text(const std::string& boot, const std::vector<NicAt>& nics, const std::string& agent = {});

/// What is another one at a port than before, in words; empty: nothing.
std::string device_change(const PortDevice& before, const PortDevice& now);

/// What makes a reading worth telling before its time: errors that lost frames, changes of the link, and what
/// the NIC and its module are. Modules are read more seldom than counters: one that was not read is the one
/// before.
class ReportedOfHost {
 public:
  /// Whether it is other than the one before; then it is the one before.
  bool changes(const std::vector<NicAt>& nics);

 private:
  std::map<std::string, std::map<std::string, std::string>> told_;  // by port, what is said of what
};

/// The readings of all hosts of a fabric, as a watcher keeps them in memory. Of each host the first and the
/// last under each boot and module, of the last two hours: windows lie between them, and between them and
/// what is kept for days.
class HostCounters {
 public:
  /// What of the NICs themselves is another than the host told before, a line each; of a host once an hour.
  /// Errors: those of read_host_counters; then nothing changes.
  Result<std::vector<std::string>> take(const Fabric& fabric, const HostPorts& own, std::string_view text,
                                        Nanoseconds now);
  void add_to(const Fabric& fabric, Nanoseconds now, CounterTable& into) const;
  /// The NICs of this source, as it told them last.
  struct NicOfHost {
    PortId port;
    PortDevice device;
    ModuleState module;  // empty words: it told of none
  };
  std::vector<NicOfHost> nics_of(const std::string& source) const;
  bool empty() const { return hosts_.empty(); }

 private:
  struct Reading {
    Nanoseconds at{};
    std::string text;    // by the names of the fabric
    std::string epochs;  // boot and serials
  };
  struct Host {
    std::vector<Reading> readings;        // ascending
    std::map<PortId, EpochWords> epochs;  // of each port, as they were told last
    std::map<PortId, PortModule> modules;
    std::map<PortId, PortFec> fec_modes;
    std::map<PortId, PortDevice> devices;
    std::optional<Nanoseconds> reported_at = std::nullopt;  // that a NIC is another one
  };
  static std::vector<std::string> note_devices(const Fabric& fabric, Host& host, const CounterTable& read,
                                               Nanoseconds now);
  std::map<std::string, Host> hosts_;  // by source
};

}  // namespace weft::counters
