#include "topology/findings/channel_count.hpp"

#include <array>

namespace weft {

std::string_view to_string(CounterKind kind) {
  switch (kind) {
    case CounterKind::codewords:
      return "codewords";
    case CounterKind::frames:
      return "frames";
    case CounterKind::symbols:
      return "symbols";
    case CounterKind::packets:
      return "packets";
    case CounterKind::discards:
      return "discards";
  }
  return "";
}

std::optional<CounterKind> parse_counter_kind(std::string_view text) {
  for (const CounterKind kind : std::array{CounterKind::codewords, CounterKind::frames, CounterKind::symbols,
                                           CounterKind::packets, CounterKind::discards})
    if (to_string(kind) == text) return kind;
  return std::nullopt;
}

}  // namespace weft
