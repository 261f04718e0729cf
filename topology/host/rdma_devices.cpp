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

NicInventory read_device(const std::filesystem::path& folder, const std::string& name) {
  NicInventory nic{
      .rdma_device = name, .pci = sysfs_target(folder / "device"), .firmware = sysfs_line(folder / "fw_ver")};
  const auto port = folder / "ports/1";
  if (const auto state = sysfs_line(port / "state")) nic.port_state = parse_port_state(*state);
  if (const auto rate = sysfs_line(port / "rate")) nic.rate = parse_port_rate(*rate);
  nic.link_layer = sysfs_line(port / "link_layer");
  if (nic.link_layer == "Ethernet") nic.gids = count_gids(port);
  if (const auto traffic_class = sysfs_line(folder / "tc/1/traffic_class"))
    nic.settings["RoCE traffic class"] = *traffic_class;
  return nic;
}

}  // namespace

std::optional<Guid> infiniband_port_guid(const std::filesystem::path& sys, const std::string& device) {
  const auto port = sys / "class/infiniband" / device / "ports/1";
  if (sysfs_line(port / "link_layer") != "InfiniBand") return std::nullopt;
  const auto text = sysfs_line(port / "gids/0");
  const auto gid = text ? IpAddress::parse(*text) : fail(ErrorKind::absent, "no GID");
  return gid ? port_of_gid(*gid) : std::nullopt;
}

std::vector<NicInventory> rdma_devices(const std::filesystem::path& sys) {
  std::vector<NicInventory> found;
  for (const std::string& name : sysfs_names(sys / "class/infiniband"))
    found.push_back(read_device(sys / "class/infiniband" / name, name));
  return found;
}

}  // namespace weft
