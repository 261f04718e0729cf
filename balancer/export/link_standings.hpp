// What stands at the links of a fabric, for targets that take links out of its routes: of those that are
// asked for, and of all others that are out of use, which count for the caps. Pure.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "balancer/export/target.hpp"

namespace weft::exports {

struct LinkSeen {
  std::string text;
  bool is_off = false;  // taken out of the routes: ours where the ledger has that very mark
  bool is_known = true;
};
/// Absent: a link that the target does not deal with.
using SeeLink = std::function<std::optional<LinkSeen>(LinkId)>;

/// Objects that are hosts are left out; one that the fabric does not have is not known.
std::vector<Standing> link_standings(const Fabric& fabric, std::span<const std::string> objects,
                                     const SeeLink& see);

}  // namespace weft::exports
