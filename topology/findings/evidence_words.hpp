// How lines of evidence end that say more than their finding's cause. Reports, which may be drawn from a
// saved document, know them by these words.
#pragma once

#include <string_view>

namespace weft {

/// Of flows that a channel held back without a steady limit. What overflows a queue of other traffic is lost,
/// too: beside a loss it says that the cable need not be bad.
inline constexpr std::string_view kOrOtherTraffic = ": a rate that comes and goes, or other traffic";

}  // namespace weft
