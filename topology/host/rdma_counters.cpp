#include "topology/host/rdma_counters.hpp"

#include <algorithm>
#include <charconv>

#include "topology/host/sysfs_values.hpp"

namespace weft::host {
namespace {

/// hw_counters also holds how often the driver refreshes them, which is no count.
constexpr std::string_view kRefreshInterval = "lifespan";

void add_counters(const std::filesystem::path& folder, std::map<std::string, std::uint64_t>& values) {
  for (const std::string& name : sysfs_names(folder)) {
    if (name == kRefreshInterval) continue;
    // A counter that both folders have: the device's own goes on where the standard's sticks.
    if (const auto number = sysfs_number(folder / name)) values[name] = *number;
  }
}

bool serves(const std::filesystem::path& port, const std::string& interface) {
  const auto netdevs = port / "gid_attrs/ndevs";
  return std::ranges::any_of(sysfs_names(netdevs), [&](const std::string& index) {
    return sysfs_line(netdevs / index) == interface;
  });
}

std::optional<std::uint32_t> port_number(const std::string& name) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc{} || end != name.data() + name.size()) return std::nullopt;
  return number;
}

}  // namespace

std::optional<std::string> rdma_device_of(const std::filesystem::path& sys, const std::string& interface) {
  const auto devices = sys / "class/infiniband";
  for (const std::string& device : sysfs_names(devices))
    for (const std::string& port : sysfs_names(devices / device / "ports"))
      if (serves(devices / device / "ports" / port, interface)) return device;
  return std::nullopt;
}

std::optional<NicCounters> rdma_counters(const std::filesystem::path& sys, const std::string& name,
                                         Nanoseconds now) {
  const auto devices = sys / "class/infiniband";
  for (const std::string& device : sysfs_names(devices))
    for (const std::string& port : sysfs_names(devices / device / "ports")) {
      const auto number = port_number(port);
      const auto folder = devices / device / "ports" / port;
      if (!number || (device != name && !serves(folder, name))) continue;
      NicCounters read{device, *number, now, {}};
      add_counters(folder / "counters", read.values);
      add_counters(folder / "hw_counters", read.values);
      return read;
    }
  return std::nullopt;
}

}  // namespace weft::host
