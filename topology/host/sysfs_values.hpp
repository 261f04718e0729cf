// Single values from the files of a sysfs tree, live or captured. A file that is absent, not readable, longer
// than a page or of another form gives nothing: drivers differ in which files they have.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topology/findings/host_inventory.hpp"

namespace weft::host {

/// The first line, without blanks around it; absent when it is empty or holds control characters.
std::optional<std::string> sysfs_line(const std::filesystem::path& file);
std::optional<std::uint64_t> sysfs_number(const std::filesystem::path& file);
/// The names in a directory, ascending; at most 4096 are looked at.
std::vector<std::string> sysfs_names(const std::filesystem::path& directory);
/// The last part of what a link points to (a driver, a PCI address); absent where it is no link.
std::optional<std::string> sysfs_target(const std::filesystem::path& link);

// Parsers of what such files say.
/// "32.0 GT/s PCIe", "8 GT/s".
std::optional<PcieSpeed> parse_pcie_speed(std::string_view text);
/// "400 Gb/sec (4X NDR)".
std::optional<Bandwidth> parse_port_rate(std::string_view text);
/// "4: ACTIVE" -> "ACTIVE".
std::optional<std::string> parse_port_state(std::string_view text);
/// "0-3,8" -> 0 1 2 3 8; absent when it is no such list or names a CPU above 65535.
std::optional<std::vector<std::uint32_t>> parse_cpu_list(std::string_view text);
/// 3 4 5 9 -> "3-5,9".
std::string to_ranges(const std::vector<std::uint32_t>& ascending);

}  // namespace weft::host
