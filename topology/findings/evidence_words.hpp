// Words in lines of evidence that say more than their finding's cause. Reports, which may be drawn from a
// saved document, know such lines by them.
#pragma once

#include <string_view>

namespace weft {

/// Of flows that a channel held back without a steady limit. What overflows a queue of other traffic is lost,
/// too: beside a loss it says that the cable need not be bad.
inline constexpr std::string_view kOrOtherTraffic = ": a rate that comes and goes, or other traffic";

/// "pause frames of priority 3" these words, who began, and the second: beside a rate, a delay or congestion
/// it says that the cable need not be bad.
inline constexpr std::string_view kPauseFrames = "pause frames";
inline constexpr std::string_view kStoppedItsSender = " stopped its sender: ";
inline constexpr std::string_view kOrSlowAsWell = "; a cable that is slow as well looks the same";

}  // namespace weft
