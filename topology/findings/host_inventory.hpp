// HostInventory: what one host has and how it is set: GPUs, NICs, NUMA nodes, PCIe switches, and the settings
// of the NICs that RoCE depends on. Read by topology/host, judged by probes/hostcheck, carried by an agent's
// first message. Whatever the host did not tell is absent, never a guess. Plain values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topology/base/units.hpp"

namespace weft {

/// A lane's transfers per second, as sysfs writes it (2.5, 5, 8, 16, 32, 64 GT/s).
class PcieSpeed {
 public:
  constexpr PcieSpeed() = default;
  static constexpr PcieSpeed giga_transfers(double per_second) { return PcieSpeed(per_second); }
  constexpr double in_giga_transfers() const { return value_; }
  friend constexpr auto operator<=>(PcieSpeed, PcieSpeed) = default;

 private:
  constexpr explicit PcieSpeed(double value) : value_(value) {}
  double value_ = 0;
};

/// A device's link to what is above it. The `most_*` are what both ends can.
struct PcieLink {
  std::optional<std::uint32_t> lanes = std::nullopt;
  std::optional<PcieSpeed> speed = std::nullopt;
  std::optional<std::uint32_t> most_lanes = std::nullopt;
  std::optional<PcieSpeed> most_speed = std::nullopt;
  friend bool operator==(const PcieLink&, const PcieLink&) = default;
};

struct GpuInventory {
  std::string pci;    // 0000:18:00.0
  std::string model;  // vendor:device, as in 10de:2330
  std::optional<std::uint32_t> numa = std::nullopt;
  PcieLink link;
  /// The NICs nearest by PCIe (one, or several at the same distance), by their interface, else RDMA device,
  /// else address.
  std::vector<std::string> nearest_nics;
  friend bool operator==(const GpuInventory&, const GpuInventory&) = default;
};

/// Entries of a port's GID table that are in use.
struct GidCounts {
  std::uint32_t roce_v1 = 0;
  std::uint32_t roce_v2 = 0;
  friend bool operator==(const GidCounts&, const GidCounts&) = default;
};

struct NicInventory {
  std::optional<std::string> interface = std::nullopt;    // eth0
  std::optional<std::string> rdma_device = std::nullopt;  // mlx5_0; of its ports, the first
  std::optional<std::string> pci = std::nullopt;
  std::optional<std::string> model = std::nullopt;      // 15b3:1021
  bool serves = false;                                  // the agent probes by it
  std::optional<std::string> served_as = std::nullopt;  // the name or address by which it was asked for
  std::optional<std::uint32_t> numa = std::nullopt;
  std::string near_cpus;  // of its NUMA node, as "0-55,112-167"; empty: not known
  PcieLink link;
  std::optional<std::string> driver = std::nullopt;
  std::optional<std::string> firmware = std::nullopt;
  std::optional<Bytes> mtu = std::nullopt;               // of IP packets
  std::optional<bool> up = std::nullopt;                 // the interface has a carrier
  std::optional<std::string> port_state = std::nullopt;  // of the RDMA port: ACTIVE, DOWN, INIT, ARMED
  std::optional<Bandwidth> rate = std::nullopt;
  std::optional<std::string> link_layer = std::nullopt;  // Ethernet, InfiniBand
  std::optional<GidCounts> gids = std::nullopt;
  /// Settings that must be alike across a fabric, by what they are called: "PFC priorities", "DSCP to
  /// priority".
  std::map<std::string, std::string> settings;
  friend bool operator==(const NicInventory&, const NicInventory&) = default;
};

struct NumaInventory {
  std::uint32_t number = 0;
  std::string cpus;
  friend bool operator==(const NumaInventory&, const NumaInventory&) = default;
};

struct PcieSwitchInventory {
  std::string pci;                 // of its upstream port
  std::string model;               // 1000:c030
  std::vector<std::string> below;  // addresses of the GPUs and NICs behind it
  friend bool operator==(const PcieSwitchInventory&, const PcieSwitchInventory&) = default;
};

struct HostInventory {
  /// Several hosts share this machine (a lab): only the interfaces of this one are told.
  bool shares_machine = false;
  std::vector<GpuInventory> gpus;  // by address
  std::vector<NicInventory> nics;
  std::vector<NumaInventory> numa_nodes;
  std::vector<PcieSwitchInventory> pcie_switches;
  std::vector<std::string> gaps;  // what could not be read, and why
  friend bool operator==(const HostInventory&, const HostInventory&) = default;
};

/// How a person would call it: its interface, else its RDMA device, else its address.
std::string name_of(const NicInventory& nic);

/// The GPU that counts the NIC served as `served_as` among its nearest; of several the first by address;
/// where none does, the host's first. Null: the host has no GPU. Valid as long as the inventory.
const GpuInventory* gpu_near(const HostInventory& host, std::string_view served_as);

}  // namespace weft
