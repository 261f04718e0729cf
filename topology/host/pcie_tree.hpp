// The PCIe tree of a host as hwloc sees it, as values: the GPUs, the NICs and the bridges above them. Built
// without hwloc, reading one answers not_supported (pcie_tree_absent.cpp).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "topology/base/result.hpp"
#include "topology/findings/host_inventory.hpp"

namespace weft::host {

struct PcieDevice {
  enum class Kind { gpu, nic, other };
  Kind kind = Kind::other;
  std::string address;  // 0000:18:00.0
  std::string model;    // 10de:2330
  std::optional<std::uint32_t> numa = std::nullopt;
  std::string near_cpus;
  /// Addresses of the bridges above it, the root port first. A PCIe switch is two of them: its upstream and
  /// one of its downstream ports.
  std::vector<std::string> bridges;
  /// Which of the tree's host bridges (root complexes) it hangs on.
  std::uint32_t root = 0;
};

struct PcieTree {
  std::vector<PcieDevice> devices;  // by address
  std::vector<PcieSwitchInventory> switches;
  std::vector<NumaInventory> numa_nodes;
};

/// Of this machine, or of the hwloc XML file `xml`.
Result<PcieTree> read_pcie_tree(const std::optional<std::filesystem::path>& xml);

/// How far two devices are from each other: fewer is nearer. Bridges between them; on another root complex
/// 100 more, on another NUMA node 1000 more.
std::uint32_t pcie_distance(const PcieDevice& a, const PcieDevice& b);

/// The addresses of the NICs nearest to a device, in the order of `nics`; several at the same distance.
std::vector<std::string> nearest(const PcieDevice& device, const std::vector<PcieDevice>& nics);

}  // namespace weft::host
