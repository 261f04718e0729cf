// Codewords of forward error correction on links of 100 Gb/s and more. Values.
#pragma once

#include "topology/findings/channel_count.hpp"

namespace weft {

/// Of uncorrectable codewords: a frame of 4,096 bytes and its headers lies in seven or eight codewords of
/// 5,120 bits; 100 to 800 Gb/s interleave two or four (802.3 clauses 119, 172), and short frames lie in one.
inline constexpr CounterGain kCodewordGain{.frames_per_error = 8, .spread = 0.7};

/// A codeword of RS(528,514) or RS(544,514) carries 514 symbols of ten bits, of which 5,120 bits are data
/// (802.3 clause 91.5.2: 256b/257b of 20 blocks).
inline constexpr double kBitsOfCodeword = 5120;

}  // namespace weft
