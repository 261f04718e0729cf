// A benchmark that is run in pieces: `./bootstrap bench NAME [--only PIECE,...]`.
#pragma once

#include <span>
#include <string_view>

#include "tests/bench/support/figures.hpp"

namespace weft::bench {

struct Piece {
  std::string_view name;
  void (*run)(Figures&);
};

/// Runs the pieces that the words name, or all, and keeps the figures of the earlier ones; the exit status of
/// main.
int run_pieces(std::string_view bench, std::span<const Piece> pieces, int argc, char** argv);

}  // namespace weft::bench
