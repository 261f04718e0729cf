#include <hwloc.h>

#include <algorithm>
#include <memory>

#include "topology/host/pcie_tree.hpp"
#include "topology/host/sysfs_values.hpp"

namespace weft::host {
namespace {

// PCI class codes (PCI Code and ID Assignment Specification): base class in the high byte.
constexpr unsigned kNetworkClass = 0x02;
constexpr unsigned kDisplayClass = 0x03;
constexpr unsigned kAcceleratorClass = 0x12;
// What a display controller of a server board is made by, and no GPU: ASPEED, Matrox.
constexpr unsigned kBoardVideo[] = {0x1a03, 0x102b};
constexpr std::uintmax_t kMaxXmlBytes = 64'000'000;

struct Destroy {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, Destroy>;

std::string address_of(const hwloc_obj_attr_u::hwloc_pcidev_attr_s& pci) {
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", pci.domain, pci.bus, pci.dev, pci.func);
}
std::string model_of(const hwloc_obj_attr_u::hwloc_pcidev_attr_s& pci) {
  return fmt::format("{:04x}:{:04x}", pci.vendor_id, pci.device_id);
}

PcieDevice::Kind kind_of(const hwloc_obj_attr_u::hwloc_pcidev_attr_s& pci) {
  const unsigned base = pci.class_id >> 8;
  if (base == kNetworkClass) return PcieDevice::Kind::nic;
  const bool board = std::ranges::count(kBoardVideo, pci.vendor_id) > 0;
  if ((base == kDisplayClass && !board) || base == kAcceleratorClass) return PcieDevice::Kind::gpu;
  return PcieDevice::Kind::other;
}

bool is_pci_bridge(hwloc_obj_t object) {
  return object->type == HWLOC_OBJ_BRIDGE && object->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_PCI;
}

std::string cpus_of(hwloc_const_cpuset_t set) {
  std::vector<std::uint32_t> cpus;
  if (set != nullptr && hwloc_bitmap_weight(set) > 0)
    for (int cpu = hwloc_bitmap_first(set); cpu >= 0; cpu = hwloc_bitmap_next(set, cpu))
      cpus.push_back(static_cast<std::uint32_t>(cpu));
  return to_ranges(cpus);
}

/// The NUMA node of a place in the machine, where it belongs to just one.
std::optional<std::uint32_t> numa_of(hwloc_obj_t place) {
  if (place->nodeset == nullptr || hwloc_bitmap_weight(place->nodeset) != 1) return std::nullopt;
  return static_cast<std::uint32_t>(hwloc_bitmap_first(place->nodeset));
}

PcieDevice device_of(hwloc_topology_t topology, hwloc_obj_t object) {
  const auto& pci = object->attr->pcidev;
  PcieDevice device{.kind = kind_of(pci), .address = address_of(pci), .model = model_of(pci)};
  if (const hwloc_obj_t place = hwloc_get_non_io_ancestor_obj(topology, object)) {
    device.numa = numa_of(place);
    device.near_cpus = cpus_of(place->cpuset);
  }
  for (hwloc_obj_t above = object->parent; above != nullptr; above = above->parent) {
    if (is_pci_bridge(above))
      device.bridges.push_back(address_of(above->attr->bridge.upstream.pci));
    else if (above->type == HWLOC_OBJ_BRIDGE)
      device.root = static_cast<std::uint32_t>(above->logical_index);
  }
  std::ranges::reverse(device.bridges);
  return device;
}

/// A switch is a bridge below a bridge below a root port: its upstream port has more bridges under it.
std::vector<PcieSwitchInventory> switches_of(hwloc_topology_t topology,
                                             const std::vector<PcieDevice>& devices) {
  std::vector<PcieSwitchInventory> switches;
  for (hwloc_obj_t object = nullptr; (object = hwloc_get_next_bridge(topology, object)) != nullptr;) {
    if (!is_pci_bridge(object) || object->parent == nullptr || !is_pci_bridge(object->parent)) continue;
    bool has_ports = false;
    for (hwloc_obj_t child = object->io_first_child; child != nullptr; child = child->next_sibling)
      has_ports = has_ports || is_pci_bridge(child);
    if (!has_ports) continue;
    const auto& pci = object->attr->bridge.upstream.pci;
    PcieSwitchInventory found{address_of(pci), model_of(pci), {}};
    for (const PcieDevice& device : devices)
      if (device.kind != PcieDevice::Kind::other && std::ranges::count(device.bridges, found.pci) > 0)
        found.below.push_back(device.address);
    switches.push_back(std::move(found));
  }
  return switches;
}

Result<Topology> load(const std::optional<std::filesystem::path>& xml) {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return fail(ErrorKind::internal, "hwloc cannot start");
  Topology topology(raw);
  hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_ALL);
  std::error_code error;
  if (xml) {
    const auto size = std::filesystem::file_size(*xml, error);
    if (error || size > kMaxXmlBytes || hwloc_topology_set_xml(raw, xml->c_str()) != 0)
      return fail(ErrorKind::invalid_input, "{} is not there or no hwloc XML: make it with lstopo",
                  xml->string());
  }
  if (hwloc_topology_load(raw) != 0)
    return fail(ErrorKind::invalid_input, "hwloc cannot read {}", xml ? xml->string() : "this machine");
  return topology;
}

}  // namespace

Result<PcieTree> read_pcie_tree(const std::optional<std::filesystem::path>& xml) {
  WEFT_TRY(const auto topology, load(xml));
  PcieTree tree;
  const hwloc_topology_t raw = topology.get();
  for (hwloc_obj_t object = nullptr; (object = hwloc_get_next_pcidev(raw, object)) != nullptr;)
    tree.devices.push_back(device_of(raw, object));
  std::ranges::sort(tree.devices, {}, &PcieDevice::address);
  tree.switches = switches_of(raw, tree.devices);
  for (hwloc_obj_t node = nullptr;
       (node = hwloc_get_next_obj_by_type(raw, HWLOC_OBJ_NUMANODE, node)) != nullptr;)
    tree.numa_nodes.push_back({node->os_index, cpus_of(node->cpuset)});
  return tree;
}

}  // namespace weft::host
