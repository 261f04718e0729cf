// What a relay is told and what it tells: whatever reads must write to something that reads to the same;
// lines in pieces say what they say at once.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "probes/run/relay.hpp"

namespace {

std::size_t told_in_pieces(std::string_view text, std::size_t piece) {
  weft::run::RelayLines lines(4, 1000);
  std::size_t told = 0;
  for (; !text.empty(); text.remove_prefix(std::min(piece, text.size()))) {
    for (const auto& each : lines.take(text.substr(0, piece), std::chrono::seconds(1))) {
      ++told;
      if (each.host >= 4 || each.answer.output.size() > 1000) std::abort();
    }
  }
  if (lines.untold().size() + told != 4) std::abort();
  return told;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto order = weft::run::read_relay_order(text);
  if (order) {
    const auto again = weft::run::read_relay_order(weft::run::relay_order_text(*order));
    if (!again || *again != *order) std::abort();
  }
  if (told_in_pieces(text, 7) != told_in_pieces(text, text.size() + 1)) std::abort();
  return 0;
}
