#include "topology/host/host_reader.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "topology/base/ids.hpp"
#include "topology/base/ip.hpp"
#include "topology/findings/host_inventory.hpp"
#include "topology/host/interfaces.hpp"
#include "topology/host/nic_settings.hpp"
#include "topology/host/pcie_tree.hpp"
#include "topology/host/sysfs_values.hpp"
#include "topology/model/infiniband.hpp"

namespace weft::host {
namespace {

// The RDMA devices of a sysfs tree (class/infiniband): the first port of each.

constexpr std::string_view kNoGid = "0000:0000:0000:0000:0000:0000:0000:0000";

/// Entries that hold an address, by their type ("IB/RoCE v1", "RoCE v2"). Reading the type of an empty entry
/// fails, which is how the kernel says so.
std::optional<GidCounts> count_gids(const std::filesystem::path& port) {
  const auto names = sysfs_names(port / "gids");
  if (names.empty()) return std::nullopt;
  GidCounts counts;
  for (const std::string& index : names) {
    const auto gid = sysfs_line(port / "gids" / index);
    if (!gid || *gid == kNoGid) continue;
    const auto type = sysfs_line(port / "gid_attrs/types" / index);
    if (type == "RoCE v2") ++counts.roce_v2;
    if (type == "IB/RoCE v1") ++counts.roce_v1;
  }
  return counts;
}

constexpr unsigned kMaxPorts = 254;  // IBTA vol. 1, 14.2.5.6

std::filesystem::path port_folder(const std::filesystem::path& sys, const std::string& device,
                                  unsigned port) {
  return sys / "class/infiniband" / device / "ports" / std::to_string(port);
}

/// What the port says of itself: state, rate, link layer.
void read_rdma_port(const std::filesystem::path& sys, const std::string& device, unsigned port,
                    NicInventory& into) {
  const auto folder = port_folder(sys, device, port);
  if (const auto state = sysfs_line(folder / "state")) into.port_state = parse_port_state(*state);
  if (const auto rate = sysfs_line(folder / "rate")) into.rate = parse_port_rate(*rate);
  into.link_layer = sysfs_line(folder / "link_layer");
}

/// The device's InfiniBand ports, by number, with the GUIDs by which their GIDs are known.
std::map<unsigned, Guid> infiniband_ports(const std::filesystem::path& sys, const std::string& device) {
  std::map<unsigned, Guid> ports;
  for (unsigned port = 1; port <= kMaxPorts; ++port) {
    const auto layer = sysfs_line(port_folder(sys, device, port) / "link_layer");
    if (!layer) break;
    const auto text = sysfs_line(port_folder(sys, device, port) / "gids/0");
    const auto gid = text ? IpAddress::parse(*text) : fail(ErrorKind::absent, "no GID");
    const auto guid = gid ? port_of_gid(*gid) : std::nullopt;
    if (*layer == "InfiniBand" && guid) ports.emplace(port, *guid);
  }
  return ports;
}

NicInventory read_device(const std::filesystem::path& sys, const std::string& name) {
  const auto folder = sys / "class/infiniband" / name;
  NicInventory nic{
      .rdma_device = name, .pci = sysfs_target(folder / "device"), .firmware = sysfs_line(folder / "fw_ver")};
  read_rdma_port(sys, name, 1, nic);
  if (nic.link_layer == "Ethernet") nic.gids = count_gids(port_folder(sys, name, 1));
  if (const auto traffic_class = sysfs_line(folder / "tc/1/traffic_class"))
    nic.settings["RoCE traffic class"] = *traffic_class;
  return nic;
}

/// By name, with what an inventory tells of the RDMA side: device, address, firmware, state, rate, GIDs,
/// traffic class.
std::vector<NicInventory> rdma_devices(const std::filesystem::path& sys) {
  std::vector<NicInventory> found;
  for (const std::string& name : sysfs_names(sys / "class/infiniband"))
    found.push_back(read_device(sys, name));
  return found;
}

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
    return host::link_of(sys_ / "bus/pci/devices", device.address,
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

}  // namespace weft::host
