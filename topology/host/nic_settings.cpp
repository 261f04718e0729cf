#include "topology/host/nic_settings.hpp"

#include "topology/host/sysfs_values.hpp"

namespace weft::host {
namespace {

/// Files 0 to 7 of a folder, one a priority, that hold 1: "3", "0-7", "none".
std::optional<std::string> priorities_on(const std::filesystem::path& folder) {
  std::vector<std::uint32_t> on;
  bool any = false;
  for (std::uint32_t priority = 0; priority < 8; ++priority) {
    const auto value = sysfs_number(folder / std::to_string(priority));
    any = any || value.has_value();
    if (value == 1) on.push_back(priority);
  }
  if (!any) return std::nullopt;
  return on.empty() ? "none" : to_ranges(on);
}

}  // namespace

NicSettings settings_of_sysfs(const std::filesystem::path& sys, const std::string& interface) {
  const auto folder = sys / "class/net" / interface;
  NicSettings settings;
  const auto put = [&](const char* name, const std::optional<std::string>& value) {
    if (value) settings[name] = *value;
  };
  put("priorities with ECN notification (NP)", priorities_on(folder / "ecn/roce_np/enable"));
  put("priorities with ECN reaction (RP)", priorities_on(folder / "ecn/roce_rp/enable"));
  put("DSCP of CNPs", sysfs_line(folder / "ecn/roce_np/cnp_dscp"));
  put("priority of CNPs", sysfs_line(folder / "ecn/roce_np/cnp_802p_prio"));
  put("trust", sysfs_line(folder / "qos/trust"));
  return settings;
}

}  // namespace weft::host
