// What the kernel of a host tells of one network interface: counters by the names of their sources, the
// module in its cage, and what could not be read. Read by topology/host; collectors/counters knows what the
// counters mean. Plain values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "topology/base/units.hpp"

namespace weft {

/// Optical lane of a module, as it measures itself; what it does not measure is absent.
struct ModuleLane {
  std::optional<double> rx_mw = std::nullopt;  // received power, milliwatts; zero: no light
  std::optional<double> tx_mw = std::nullopt;
  std::optional<double> bias_ma = std::nullopt;  // of the laser
  friend bool operator==(const ModuleLane&, const ModuleLane&) = default;
};

/// A value of CMIS's versatile diagnostics. What it says of bit errors is a figure of the module, never a
/// count.
struct ModuleDiagnostic {
  std::string name;  // "SNR of the media input"
  std::uint8_t lane = 0;
  double value = 0;  // SNR: dB; error rates: a share
  friend bool operator==(const ModuleDiagnostic&, const ModuleDiagnostic&) = default;
};

struct ModuleState {
  std::string form;  // "QSFP28"
  /// As the module says; empty where it does not, or where its check sum is wrong.
  std::string vendor, part, serial;
  bool wrong_checksum = false;
  bool copper = false;  // no light: it has no lanes
  bool aoc = false;     // active optical cable: module and fibre are one part
  std::optional<double> celsius = std::nullopt, volts = std::nullopt;
  std::vector<ModuleLane> lanes;
  std::vector<ModuleDiagnostic> diagnostics;
  friend bool operator==(const ModuleState&, const ModuleState&) = default;
};

/// What is beyond is no temperature of electronics, degrees Celsius.
constexpr double kMinCelsius = -60, kMaxCelsius = 250;
constexpr bool is_celsius_of_electronics(double celsius) {
  return celsius >= kMinCelsius && celsius <= kMaxCelsius;
}

/// Degrees Celsius, of the warmest sensor each.
struct Temperatures {
  std::optional<double> device = std::nullopt;  // the NIC
  std::optional<double> module = std::nullopt;  // in its cage
  std::optional<double> gpu = std::nullopt;     // of its host
  friend bool operator==(const Temperatures&, const Temperatures&) = default;
};

struct NotRead {
  std::string what;  // "FEC"
  std::string why;   // "the driver does not tell"
  friend bool operator==(const NotRead&, const NotRead&) = default;
};

using NamedCounts = std::map<std::string, std::uint64_t>;

struct NicReading {
  std::string interface;
  std::string driver;         // "mlx5_core"; empty: not told
  std::string firmware = {};  // of the NIC; empty: not told
  std::optional<std::string> pci = std::nullopt;
  std::optional<std::string> pci_id = std::nullopt;  // vendor and device: "15b3:101d"
  std::optional<Bandwidth> speed = std::nullopt;     // that the link has now
  std::optional<std::string> fec = std::nullopt;     // the mode in use: "RS", "BaseR", "off"
  /// Of the kernel's own interfaces, by the names that ethtool(8) and the kernel have:
  /// "eth-mac-FrameCheckSequenceErrors", "corrected_blocks", "fec_bin.0-0", "rx_packets".
  NamedCounts kernel;
  NamedCounts driver_counters;  // what ethtool -S prints
  NamedCounts rdma;             // of its RDMA device (topology/host/rdma_counters.hpp)
  NamedCounts pcie;             // advanced error reporting: "correctable BadTLP"
  std::optional<ModuleState> module = std::nullopt;
  Temperatures temperatures = {};
  std::vector<NotRead> not_read;
};

}  // namespace weft
