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
  std::vector<std::string> addresses;  // as to_string(IpAddress) writes them; of a live host
};

/// By name. Of the namespace of the calling thread; sysfs shows that of whoever mounted it.
std::vector<NetworkInterface> interfaces_of_kernel();
std::vector<NetworkInterface> interfaces_of_sysfs(const std::filesystem::path& sys);

}  // namespace weft::host
