#include "topology/host/host_reader.hpp"

#include <algorithm>
#include <iterator>

#include "topology/host/interfaces.hpp"
#include "topology/host/nic_settings.hpp"
#include "topology/host/pcie_tree.hpp"
#include "topology/host/rdma_devices.hpp"
#include "topology/host/sysfs_values.hpp"
#include "topology/model/infiniband.hpp"

namespace weft {
namespace {

std::optional<std::uint32_t> lanes_of(const std::filesystem::path& file) {
  const auto lanes = sysfs_number(file);
  // 255 is what the kernel says of a link it cannot read.
  if (!lanes || *lanes == 0 || *lanes > 32) return std::nullopt;
  return static_cast<std::uint32_t>(*lanes);
}

std::optional<PcieSpeed> speed_of(const std::filesystem::path& file) {
  const auto line = sysfs_line(file);
  return line ? parse_pcie_speed(*line) : std::nullopt;
}

template <class T>
std::optional<T> lesser(std::optional<T> a, std::optional<T> b) {
  return a && b ? std::min(*a, *b) : a;
}

/// The link of a device; it can be no better than what is above it can.
PcieLink link_of(const std::filesystem::path& devices, const std::string& address, const std::string& above) {
  const auto own = devices / address;
  PcieLink link{lanes_of(own / "current_link_width"), speed_of(own / "current_link_speed"),
                lanes_of(own / "max_link_width"), speed_of(own / "max_link_speed")};
  if (above.empty()) return link;
  link.most_lanes = lesser(link.most_lanes, lanes_of(devices / above / "max_link_width"));
  link.most_speed = lesser(link.most_speed, speed_of(devices / above / "max_link_speed"));
  return link;
}

class Reader {
 public:
  explicit Reader(const HostSource& source)
      : source_(source), live_(source.root == "/"), sys_(source.root / "sys") {}

  Result<HostInventory> read() {
    if (!live_ && !std::filesystem::is_directory(sys_))
      return fail(ErrorKind::not_found, "{}: no sys/ there: expected the root of a captured host",
                  source_.root.string());
    inventory_.shares_machine = source_.shares_machine;
    if (!source_.shares_machine) read_tree();
    read_nics();
    add_tree_to_nics();
    add_gpus();
    inventory_.numa_nodes = std::move(tree_.numa_nodes);
    inventory_.pcie_switches = std::move(tree_.switches);
    return std::move(inventory_);
  }

 private:
  void read_tree() {
    auto tree = read_pcie_tree(live_ ? std::nullopt : std::optional(source_.root / "hwloc.xml"));
    if (tree)
      tree_ = std::move(*tree);
    else
      inventory_.gaps.push_back(tree.error().message);
  }

  /// RDMA devices and interfaces of one PCI function are one NIC; what has neither a device nor a name that
  /// is served is no NIC of ours (a bridge, a container's cable).
  void read_nics() {
    if (!source_.shares_machine) inventory_.nics = rdma_devices(sys_);
    for (const NetworkInterface& interface : live_ ? interfaces_of_kernel() : interfaces_of_sysfs(sys_)) {
      const auto served_as = served_name(interface);
      if (!served_as && (source_.shares_machine || !interface.pci)) continue;
      NicInventory& nic = nic_of(interface);
      nic.interface = interface.name;
      nic.served_as = served_as;
      nic.mtu = interface.mtu;
      nic.up = interface.up;
      nic.driver = interface.driver;
      if (!nic.firmware) nic.firmware = interface.firmware;
      if (!source_.shares_machine) add_settings(nic);
    }
    for (NicInventory& nic : inventory_.nics)
      if (!nic.served_as && nic.rdma_device && is_served(*nic.rdma_device)) nic.served_as = nic.rdma_device;
    serve_infiniband_ports();
    for (NicInventory& nic : inventory_.nics) nic.serves = nic.served_as.has_value();
  }

  bool is_served(const std::string& name) const { return std::ranges::count(source_.serves, name) > 0; }

  /// The word of `serves` that means this interface.
  std::optional<std::string> served_name(const NetworkInterface& interface) const {
    if (is_served(interface.name)) return interface.name;
    for (const std::string& address : interface.addresses)
      if (is_served(address)) return address;
    return std::nullopt;
  }

  /// By their GIDs. A NIC is a port: an adapter of which several are served is as many.
  void serve_infiniband_ports() {
    std::vector<NicInventory> more;
    for (NicInventory& nic : inventory_.nics) {
      if (nic.served_as || !nic.rdma_device) continue;
      for (const auto& [port, guid] : infiniband_ports(sys_, *nic.rdma_device)) {
        const auto gid = to_string(gid_address(guid));
        if (!is_served(gid)) continue;
        NicInventory& served = nic.served_as ? more.emplace_back(nic) : nic;
        if (port > 1) served.interface.reset();  // that of the first
        served.served_as = gid;
        read_rdma_port(sys_, *nic.rdma_device, port, served);
      }
    }
    std::ranges::move(more, std::back_inserter(inventory_.nics));
  }

  NicInventory& nic_of(const NetworkInterface& interface) {
    const auto known = std::ranges::find_if(inventory_.nics, [&](const NicInventory& nic) {
      return nic.pci && nic.pci == interface.pci && !nic.interface;
    });
    if (known != inventory_.nics.end()) return *known;
    inventory_.nics.push_back({.pci = interface.pci});
    return inventory_.nics.back();
  }

  void add_settings(NicInventory& nic) {
    nic.settings.merge(settings_of_sysfs(sys_, *nic.interface));
    if (live_) nic.settings.merge(settings_of_kernel(*nic.interface));
  }

  void add_tree_to_nics() {
    for (const PcieDevice& device : tree_.devices) {
      if (device.kind != PcieDevice::Kind::nic) continue;
      for (NicInventory& nic : inventory_.nics) {
        if (nic.pci != device.address) continue;
        nic.model = device.model;
        nic.numa = device.numa;
        nic.near_cpus = device.near_cpus;
        nic.link = link_of(device);
      }
    }
  }

  void add_gpus() {
    for (const PcieDevice& device : tree_.devices) {
      if (device.kind != PcieDevice::Kind::gpu) continue;
      GpuInventory gpu{device.address, device.model, device.numa, link_of(device), {}};
      for (const auto& nic : nearest(device, known_nics())) gpu.nearest_nics.push_back(name_at(nic));
      inventory_.gpus.push_back(std::move(gpu));
    }
  }

  PcieLink link_of(const PcieDevice& device) const {
    return weft::link_of(sys_ / "bus/pci/devices", device.address,
                         device.bridges.empty() ? "" : device.bridges.back());
  }

  /// Those that carry RDMA where any does: a GPU's traffic takes no management port.
  std::vector<PcieDevice> known_nics() const {
    const bool any_rdma =
        std::ranges::any_of(inventory_.nics, [](const auto& nic) { return nic.rdma_device.has_value(); });
    std::vector<PcieDevice> nics;
    for (const PcieDevice& device : tree_.devices) {
      const auto nic = std::ranges::find(inventory_.nics, std::optional(device.address), &NicInventory::pci);
      if (nic != inventory_.nics.end() && (!any_rdma || nic->rdma_device)) nics.push_back(device);
    }
    return nics;
  }

  std::string name_at(const std::string& address) const {
    const auto nic = std::ranges::find(inventory_.nics, std::optional(address), &NicInventory::pci);
    return nic == inventory_.nics.end() ? address : name_of(*nic);
  }

  const HostSource& source_;
  bool live_;
  std::filesystem::path sys_;
  PcieTree tree_;
  HostInventory inventory_;
};

}  // namespace

Result<HostInventory> read_host(const HostSource& source) { return Reader(source).read(); }

}  // namespace weft
