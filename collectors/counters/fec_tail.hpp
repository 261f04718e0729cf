// What the histogram of a forward error correction (codewords by how many symbols it repaired) says of the
// codewords that it cannot repair, before there are any. Errors come alone, in bursts or as both: what is
// extrapolated is the tail, whose steps fall as those of a negative binomial distribution do, of which
// independent errors and bursts are the ends. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace weft::counters {

/// Symbols that RS(544,514) repairs (IEEE 802.3, 91.5.2); RS(528,514): 7.
inline constexpr std::size_t kRepairable = 15;

struct FecTail {
  std::size_t highest = 0;  // bin in which a codeword was counted
  double slope = 0;         // decades from bin to bin, at the highest ones; below zero
  /// log10 of the share of codewords that are not repaired, and the range that holds it in .9 of the modelled
  /// cases (`bench counters --only tail`).
  double loss = 0, low = 0, high = 0;
};

/// `bins[k]`: codewords of one time with k symbols repaired. Absent: fewer than three bins above the first
/// have any.
std::optional<FecTail> fec_tail(std::span<const std::uint64_t> bins, std::size_t repairable = kRepairable);

/// "histogram up to bin 9, -1.2 decades a bin: 1e-14 (1e-16 to 1e-12) of codewords are not repaired".
std::string tail_text(const FecTail& tail);

}  // namespace weft::counters
