// The blacklist as JSON Lines, `weft.blacklist/1`: what other programs, and weft itself, read.
#pragma once

#include <span>
#include <string>

#include "balancer/blacklist/entry.hpp"

namespace weft::exports {

/// One entry a line, each ended by a newline.
std::string blacklist_jsonl(std::span<const blacklist::BlacklistEntry> entries);

}  // namespace weft::exports
