// Lists of hosts as people and Slurm write them: "gpu[001-004,7],login2".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topology/base/result.hpp"

namespace weft {

/// The names of a list, each once, in the order of the list. Items stand apart by commas, blanks or line
/// ends; "[A-B,C]" counts from A to B with the leading zeros of A; a name may have several brackets. An Error
/// (usage) names the item at fault; more than 100,000 names, each counted as often
/// as it is named, are refused.
Result<std::vector<std::string>> expand_hosts(std::string_view list);

}  // namespace weft
