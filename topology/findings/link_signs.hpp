// What a port tells of its link that is no count of lost frames: that it went down, that it could not send.
// As natural logarithms of likelihood ratios (ChannelEvidence). What is counted of frames or codewords is a
// ChannelCount. Pure.
#pragma once

#include <cstdint>

#include "topology/base/units.hpp"

namespace weft {

/// All such events of one channel together say no more: alone they leave a fault below .9 in any fabric
/// (diagnosis: at most .5 % of its channels are expected to be faulty, and e^7 * .005 is 5.5 to 1).
inline constexpr double kMaxEventNats = 7.0;

/// Events that a healthy link has less than once in 1,000 hours (it goes down, retrains, overruns); a bad one
/// has one an hour. At most kMaxEventNats.
double weigh_link_events(std::uint64_t count, Nanoseconds window);

/// A port that could not send what it had, in ticks that take as long as the words it sent took to send: a
/// tenth of the time is more than bursts make. Zero below that, and for few ticks: they are a moment.
inline constexpr std::uint64_t kMinWaitTicks = 1000;  // 20 ns at 200 Gb/s
double weigh_waiting(std::uint64_t ticks, std::uint64_t words);

}  // namespace weft
