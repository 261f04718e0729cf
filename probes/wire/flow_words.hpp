// What a flow's error may begin with (FlowTally::error), for who has to tell such errors apart. Pure.
#pragma once

#include <string_view>

namespace weft {

/// The flow arrived by every checksum's word, and the receiver's memory still holds something else: a fault
/// of a host.
inline constexpr std::string_view kSilentCorruption = "silent corruption";

}  // namespace weft
