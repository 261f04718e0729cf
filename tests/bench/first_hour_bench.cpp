// The first hour of an operator with weft: `./bootstrap bench first_hour [--only NAME,...]`. Run in pieces,
// it keeps the figures of the earlier pieces.
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "tests/bench/first_hour/pieces.hpp"

namespace weft::bench {
namespace {

struct Piece {
  std::string_view name;
  void (*run)(Figures&);
};

const std::vector<Piece> kPieces{
    {"packages", packages},
    {"cold_start", measure_cold_start},
    {"doctor_fleet", run_doctor_fleet},
    {"doctor_findings", run_doctor_findings},
    {"rows_over_80", rows_over_80},
    {"discovery", measure_discovery},
    {"discovery_time", measure_discovery_time},
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
    fmt::print(stderr, "usage: bench first_hour [--only NAME,...]; the pieces are:");
    for (const Piece& piece : kPieces) fmt::print(stderr, " {}", piece.name);
    fmt::print(stderr, "\n");
    return 64;
  }
  Figures figures("first_hour");
  for (const Piece& piece : pieces) piece.run(figures);
  figures.keep_earlier();
  return figures.write();
}
