#include "topology/host/rdma_devices.hpp"

#include "topology/base/ip.hpp"
#include "topology/host/sysfs_values.hpp"
#include "topology/model/infiniband.hpp"

namespace weft {
namespace {

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

}  // namespace

void read_rdma_port(const std::filesystem::path& sys, const std::string& device, unsigned port,
                    NicInventory& into) {
  const auto folder = port_folder(sys, device, port);
  if (const auto state = sysfs_line(folder / "state")) into.port_state = parse_port_state(*state);
  if (const auto rate = sysfs_line(folder / "rate")) into.rate = parse_port_rate(*rate);
  into.link_layer = sysfs_line(folder / "link_layer");
}

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

std::vector<NicInventory> rdma_devices(const std::filesystem::path& sys) {
  std::vector<NicInventory> found;
  for (const std::string& name : sysfs_names(sys / "class/infiniband"))
    found.push_back(read_device(sys, name));
  return found;
}

}  // namespace weft
