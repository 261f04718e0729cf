// Manual pages in the man macros of roff, made of what the commands say of themselves. Pure.
#pragma once

#include <span>
#include <string>

#include "cli/pages.hpp"

namespace weft::cli {

struct ManualStamp {
  std::string version;
  std::string date;  // 2026-01-31
};

/// weft-sweep(1), weft-lab-up(1).
std::string manual_page(const CommandPage& page, std::span<const CommandPage> all, const ManualStamp& stamp);
/// weft(1): all commands, exit statuses, configuration.
std::string manual_overview(std::span<const CommandPage> all, const ManualStamp& stamp);
/// "weft-lab-up".
std::string manual_name(const CommandPage& page);

}  // namespace weft::cli
