#include "topology/host/hwmon.hpp"

#include <algorithm>
#include <cctype>

#include "topology/base/whole_number.hpp"
#include "topology/host/sysfs_values.hpp"

namespace weft::host {
namespace {

constexpr std::string_view kInput = "_input";

std::optional<double> celsius_in(const std::filesystem::path& file) {
  const auto line = sysfs_line(file);
  if (!line) return std::nullopt;
  const bool is_below_zero = line->starts_with('-');
  const auto digits = parse_whole_number<std::uint32_t>(line->substr(is_below_zero ? 1 : 0));
  if (!digits) return std::nullopt;
  const double celsius = (is_below_zero ? -1.0 : 1.0) * *digits / 1000.0;
  return is_celsius_of_electronics(celsius) ? std::optional(celsius) : std::nullopt;
}

/// mlx5 calls them "asic" and "Module0" (drivers/net/ethernet/mellanox/mlx5/core/hwmon.c).
bool is_of_module(const std::optional<std::string>& label) {
  constexpr std::string_view kModule = "module";
  return label && label->size() >= kModule.size() &&
         std::ranges::equal(label->substr(0, kModule.size()), kModule, {},
                            [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
}

}  // namespace

Temperatures hwmon_temperatures(const std::filesystem::path& device) {
  Temperatures found;
  for (const std::string& monitor : sysfs_names(device / "hwmon")) {
    if (!monitor.starts_with("hwmon")) continue;
    const auto folder = device / "hwmon" / monitor;
    for (const std::string& name : sysfs_names(folder)) {
      if (!name.starts_with("temp") || !name.ends_with(kInput)) continue;
      const auto sensor = name.substr(0, name.size() - kInput.size());
      if (sysfs_number(folder / (sensor + "_fault")).value_or(0) != 0) continue;
      const auto celsius = celsius_in(folder / name);
      if (!celsius) continue;
      auto& warmest = is_of_module(sysfs_line(folder / (sensor + "_label"))) ? found.module : found.device;
      warmest = std::max(warmest.value_or(*celsius), *celsius);
    }
  }
  return found;
}

}  // namespace weft::host
