#include "tests/bench/support/pieces.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace weft::bench {
namespace {

/// Of "a,b": the pieces of these names; none where one of them is no piece.
std::vector<Piece> chosen(std::span<const Piece> all, std::string_view names) {
  std::vector<Piece> pieces;
  while (!names.empty()) {
    const auto comma = std::min(names.find(','), names.size());
    const auto found = std::ranges::find(all, names.substr(0, comma), &Piece::name);
    if (found == all.end()) return {};
    pieces.push_back(*found);
    names.remove_prefix(std::min(comma + 1, names.size()));
  }
  return pieces;
}

}  // namespace

int run_pieces(std::string_view bench, std::span<const Piece> all, int argc, char** argv) {
  const std::span<char*> words(argv, static_cast<std::size_t>(argc));
  const bool only = words.size() == 3 && std::string_view(words[1]) == "--only";
  const auto pieces = only ? chosen(all, words[2]) : std::vector<Piece>(all.begin(), all.end());
  if (pieces.empty() || (words.size() > 1 && !only)) {
    fmt::print(stderr, "usage: bench {} [--only NAME,...]; the pieces are:", bench);
    for (const Piece& piece : all) fmt::print(stderr, " {}", piece.name);
    fmt::print(stderr, "\n");
    return 64;
  }
  Figures figures{std::string(bench)};
  for (const Piece& piece : pieces) piece.run(figures);
  figures.keep_earlier();
  return figures.write();
}

}  // namespace weft::bench
