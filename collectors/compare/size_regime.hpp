// In which sizes two sides differ: of each work a line through time against size. Its start-up time is what
// small messages notice, its bandwidth what large ones do; half of the bandwidth is reached at their product
// (Hockney 1994: r_inf and n_1/2). Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "collectors/compare/run.hpp"

namespace weft::compare {

struct SizeRegime {
  double start_up = 0;   // seconds
  double bandwidth = 0;  // bits per second, at large sizes
  Bytes half() const {
    constexpr double kMost = 1e18;  // beyond it bytes are no number any more
    return Bytes(static_cast<std::int64_t>(std::min(start_up * bandwidth / 8, kMost)));
  }
};

/// A work that both sides have at four sizes at least, of which the largest is 16 times the smallest.
struct RegimePair {
  std::vector<std::string> work;
  SizeRegime a, b;
};

/// By least squares of relative errors over the sizes that both sides have; a size counts once, with the
/// geometric mean of its runs. Works whose times are no line (off by more than a third, root mean square) are
/// left out. A difference of these two figures is no verdict: it has no interval.
std::vector<RegimePair> size_regimes(std::span<const Run> a, std::span<const Run> b);

/// "all_reduce: by a line through time against size it starts in 22 us on A, 35 on B (B/A 1.59), and gets 180
/// Gbit/s of A at large sizes, 176 of B (0.98); half of that at 495 kB and 770 kB"
std::string to_string(const RegimePair& pair);

}  // namespace weft::compare
