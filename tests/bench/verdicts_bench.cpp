// Verdicts that can be trusted: `./bootstrap bench verdicts [--only NAME,...] [--fabric 2x2,...]
// [--kind loss|down|rate|delay|mixed,...] [--size few|many] [--per-fabric N] [--seeds N] [--base SEED]
// [--threads N] [--show N]`. Run in pieces, it keeps the figures of the earlier pieces. `--show` prints the
// first failures whole, with the command that repeats each.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "tests/bench/verdicts/drawn.hpp"
#include "tests/bench/verdicts/pieces.hpp"

namespace weft::bench {
namespace {

struct Piece {
  const char* name;
  void (*run)(const VerdictOptions&, Figures&);
};
constexpr Piece kPieces[] = {
    {"drawn", bench_drawn},
    {"drawn_background", bench_drawn_background},
    {"drawn_counters", bench_drawn_counters},
    {"small_loss", bench_small_loss},
    {"sensitivity", bench_sensitivity},
    {"bursts", bench_bursts},
    {"bursts_in_order", bench_bursts_in_order},
    {"sound", bench_sound},
    {"dead_transmitter", bench_dead_transmitter},
    {"mtu", bench_mtu},
    {"even_loss", bench_even_loss},
    {"partial_hosts", bench_partial_hosts},
    {"flaps", bench_flaps},
    {"excuse", bench_excuse},
    {"half_bad", bench_half_bad},
};

/// Null: `options` are read.
const char* read_options(int argc, char** argv, VerdictOptions& options) {
  for (int i = 1; i < argc; i += 2) {
    const std::string word = argv[i];
    if (i + 1 == argc) return argv[i];
    const char* value = argv[i + 1];
    const auto number = std::strtoull(value, nullptr, 10);
    if (word == "--only")
      options.only = value;
    else if (word == "--fabric")
      options.fabrics = value;
    else if (word == "--kind")
      options.kinds = value;
    else if (word == "--size")
      options.sizes = value;
    else if (word == "--per-fabric")
      options.per_fabric = number;
    else if (word == "--seeds")
      options.seeds = number;
    else if (word == "--base")
      options.base = number;
    else if (word == "--threads")
      options.threads = std::max<std::size_t>(number, 1);
    else if (word == "--show")
      options.show = number;
    else
      return argv[i];
  }
  return nullptr;
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  using namespace weft::bench;
  VerdictOptions options;
  if (const char* wrong = read_options(argc, argv, options)) {
    fmt::print(stderr, "bench verdicts: '{}' is no option, or lacks its value\n", wrong);
    return 64;
  }
  Figures figures("verdicts");
  for (const Piece& piece : kPieces)
    if (options.wants(piece.name)) piece.run(options, figures);
  figures.keep_earlier();
  return figures.write();
}
