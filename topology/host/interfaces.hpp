// The network interfaces of a host: of this network namespace, asked from the kernel, or of a captured sysfs
// tree.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "topology/base/units.hpp"

namespace weft::host {

struct NetworkInterface {
  std::string name;
  std::optional<Bytes> mtu = std::nullopt;
  std::optional<bool> up = std::nullopt;
  std::optional<std::string> pci = std::nullopt;
  std::optional<std::string> driver = std::nullopt;
  std::optional<std::string> firmware = std::nullopt;
  std::optional<Bandwidth> speed = std::nullopt;  // that the link has now; of a live host
  std::vector<std::string> addresses;             // as to_string(IpAddress) writes them; of a live host
};

/// By name. Of the namespace of the calling thread; sysfs shows that of whoever mounted it.
std::vector<NetworkInterface> interfaces_of_kernel();
/// The one of this name, without its addresses: a host may have thousands. Absent: there is none.
std::optional<NetworkInterface> interface_of_kernel(const std::string& name);
std::vector<NetworkInterface> interfaces_of_sysfs(const std::filesystem::path& sys);

}  // namespace weft::host
