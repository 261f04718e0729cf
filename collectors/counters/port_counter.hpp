// What is counted at a port, whoever counts it: names of weft's own, each with its unit, its direction and
// what a step of it proves. Readers of other formats map their names to these (docs/counters.md). Pure.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "topology/base/units.hpp"

namespace weft::counters {

enum class PortCounter : std::uint8_t {
  fec_codewords,
  fec_corrected,
  fec_uncorrectable,
  fec_bits,
  fec_bin,
  symbol_errors,
  frames_in,
  frames_out,
  bytes_in,
  bytes_out,
  fcs_errors,
  errors_in,
  errors_out,
  discards_in,
  discards_out,
  pause_in,
  pause_out,
  ecn_marked,
  cnp_in,
  cnp_out,
  link_events,
};
inline constexpr std::size_t kPortCounters = static_cast<std::size_t>(PortCounter::link_events) + 1;

/// What an index of a counter says: the lane, the priority, the bin of a histogram.
enum class CounterIndex { none, lane, priority, bin };

struct PortCounterFacts {
  std::string_view name;  // as weft.counters/1 spells it
  std::string_view unit;
  std::string_view proves;  // what it is evidence of, for people
  CounterIndex index = CounterIndex::none;
  bool is_error = false;  // of the channel into the port; link training makes some, so a link event ends them
  bool moves = false;     // on a port with signal it grows, with traffic or without
};
const PortCounterFacts& facts(PortCounter counter);
std::string_view to_string(PortCounter counter);

/// A counter with its index: of `pause_in.3` the priority 3.
struct CounterKey {
  PortCounter counter = PortCounter::frames_in;
  std::optional<std::uint8_t> index = std::nullopt;
  friend auto operator<=>(const CounterKey&, const CounterKey&) = default;
};
std::string to_string(const CounterKey& key);
/// "fec_bin.3", "frames_in"; absent: no such counter, or an index that it does not have. Priorities and lanes
/// end at 7, bins at 31.
std::optional<CounterKey> parse_counter_key(std::string_view text);

/// The most by which a counter can grow in a second on a port of this rate; absent where nothing bounds it.
/// Frames: 64 bytes with 20 of preamble and gap (IEEE 802.3, 4.4.2). Codewords: 514 symbols of ten bits carry
/// 5,120 bits of data (802.3 clause 91.5.2: 256b/257b of 20 blocks). Bytes: all of the rate.
std::optional<double> most_a_second(PortCounter counter, Bandwidth rate);

}  // namespace weft::counters
