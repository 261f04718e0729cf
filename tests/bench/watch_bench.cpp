// Standing agents and their watcher: `./bootstrap bench watch [--only NAME,...]`. Run in pieces,
// it keeps the figures of the earlier pieces.
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "tests/bench/watch/pieces.hpp"

namespace weft::bench {
namespace {

struct Piece {
  std::string_view name;
  void (*run)(Figures&);
};

const std::vector<Piece> kPieces{
    {"ingest", measure_ingest},
    {"detection", measure_detection},
    {"false_incidents", count_false_incidents},
    {"look_24576", measure_look_24576},
    {"agent", measure_agent},
    {"bus", measure_bus},
    {"page_24576", measure_page_24576},
    {"detection_24576", measure_detection_24576},
    {"store_400d", measure_store_400d},
    {"metrics_24576", measure_metrics_24576},
};

/// Of "a,b": the pieces of these names; none where one of them is no piece.
std::vector<Piece> chosen(std::string_view names) {
  std::vector<Piece> pieces;
  while (!names.empty()) {
    const auto comma = std::min(names.find(','), names.size());
    const auto found = std::ranges::find(kPieces, names.substr(0, comma), &Piece::name);
    if (found == kPieces.end()) return {};
    pieces.push_back(*found);
    names.remove_prefix(std::min(comma + 1, names.size()));
  }
  return pieces;
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  using namespace weft::bench;
  const std::span<char*> words(argv, static_cast<std::size_t>(argc));
  const bool only = words.size() == 3 && std::string_view(words[1]) == "--only";
  const auto pieces = only ? chosen(words[2]) : kPieces;
  if (pieces.empty() || (words.size() > 1 && !only)) {
    fmt::print(stderr, "usage: bench watch [--only NAME,...]; the pieces are:");
    for (const Piece& piece : kPieces) fmt::print(stderr, " {}", piece.name);
    fmt::print(stderr, "\n");
    return 64;
  }
  Figures figures("watch");
  for (const Piece& piece : pieces) piece.run(figures);
  figures.keep_earlier();
  return figures.write();
}
