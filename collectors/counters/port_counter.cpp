#include "collectors/counters/port_counter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "topology/base/whole_number.hpp"
#include "topology/findings/codewords.hpp"

namespace weft::counters {
namespace {

constexpr std::uint8_t kMaxLane = 7;  // 8 lanes of 800 Gb/s; 8 priorities (802.1Q)
constexpr std::uint8_t kMaxBin = 31;  // 16 bins of RS(544,514), and room
constexpr double kBitsOfFrame = (64 + 20) * 8;

constexpr std::array<PortCounterFacts, kPortCounters> kFacts{{
    {.name = "fec_codewords",
     .unit = "codewords",
     .proves = "how many codewords were received: what the two below are a share of",
     .moves = true},
    {.name = "fec_corrected",
     .unit = "codewords",
     .proves = "noise on the channel into the port; no loss",
     .is_error = true},
    {.name = "fec_uncorrectable",
     .unit = "codewords",
     .proves = "frames lost on the channel into the port",
     .is_error = true},
    {.name = "fec_bits",
     .unit = "bits",
     .proves = "the bit error rate before correction; no loss",
     .index = CounterIndex::lane,
     .is_error = true},
    {.name = "fec_bin",
     .unit = "codewords",
     .proves = "codewords by how many symbols were corrected: how near loss is",
     .index = CounterIndex::bin},
    {.name = "symbol_errors",
     .unit = "symbols",
     .proves = "errors of the channel into the port; of which layer differs by device",
     .index = CounterIndex::lane,
     .is_error = true},
    {.name = "frames_in", .unit = "frames", .proves = "what fcs_errors are a share of"},
    {.name = "frames_out", .unit = "frames", .proves = "what discards_out are a share of"},
    {.name = "bytes_in", .unit = "bytes", .proves = "load of the channel into the port"},
    {.name = "bytes_out", .unit = "bytes", .proves = "load of the channel out of the port"},
    {.name = "fcs_errors",
     .unit = "frames",
     .proves = "frames damaged on the channel into the port, or before it by a switch that cuts through",
     .is_error = true},
    {.name = "errors_in",
     .unit = "frames",
     .proves = "a sum that each device makes of other parts: nothing by itself"},
    {.name = "errors_out",
     .unit = "frames",
     .proves = "trouble of the port itself, or frames passed on damaged"},
    {.name = "discards_in",
     .unit = "frames",
     .proves = "frames dropped inside the switch: full buffers, rules"},
    {.name = "discards_out", .unit = "frames", .proves = "congestion of the channel out of the port"},
    {.name = "pause_in",
     .unit = "frames",
     .proves = "the peer does not take what the port sends",
     .index = CounterIndex::priority},
    {.name = "pause_out",
     .unit = "frames",
     .proves = "the port does not take what the peer sends",
     .index = CounterIndex::priority},
    {.name = "ecn_marked", .unit = "frames", .proves = "queues were long on the way"},
    {.name = "cnp_in", .unit = "frames", .proves = "the NIC was told to send slower"},
    {.name = "cnp_out", .unit = "frames", .proves = "the NIC told senders to send slower"},
    {.name = "link_events",
     .unit = "changes",
     .proves = "the link went down or up; counts near it may be of its training"},
}};

std::uint8_t last_index(CounterIndex index) { return index == CounterIndex::bin ? kMaxBin : kMaxLane; }

}  // namespace

const PortCounterFacts& facts(PortCounter counter) { return kFacts[static_cast<std::size_t>(counter)]; }

std::string_view to_string(PortCounter counter) { return facts(counter).name; }

std::string to_string(const CounterKey& key) {
  return key.index ? fmt::format("{}.{}", to_string(key.counter), *key.index)
                   : std::string(to_string(key.counter));
}

std::optional<CounterKey> parse_counter_key(std::string_view text) {
  const auto dot = text.find('.');
  const auto found = std::ranges::find(kFacts, text.substr(0, dot), &PortCounterFacts::name);
  if (found == kFacts.end()) return std::nullopt;
  CounterKey key{.counter = static_cast<PortCounter>(found - kFacts.begin())};
  if (dot == std::string_view::npos)
    return found->index == CounterIndex::bin ? std::nullopt : std::optional(key);
  const auto index = parse_whole_number<std::uint8_t>(text.substr(dot + 1));
  if (found->index == CounterIndex::none || !index || *index > last_index(found->index)) return std::nullopt;
  key.index = *index;
  return key;
}

std::optional<double> most_a_second(PortCounter counter, Bandwidth rate) {
  const double bits = rate.bits_per_second();
  switch (counter) {
    case PortCounter::fec_codewords:
    case PortCounter::fec_corrected:
    case PortCounter::fec_uncorrectable:
    case PortCounter::fec_bin:
      return bits / kBitsOfCodeword;
    case PortCounter::frames_in:
    case PortCounter::frames_out:
    case PortCounter::fcs_errors:
    case PortCounter::errors_out:
    case PortCounter::discards_out:
    case PortCounter::pause_in:
    case PortCounter::pause_out:
    case PortCounter::cnp_in:
    case PortCounter::cnp_out:
    case PortCounter::ecn_marked:
      return bits / kBitsOfFrame;
    case PortCounter::bytes_in:
    case PortCounter::bytes_out:
      return bits / 8;
    case PortCounter::fec_bits:
    case PortCounter::symbol_errors:
    case PortCounter::errors_in:
    case PortCounter::discards_in:
    case PortCounter::link_events:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace weft::counters
