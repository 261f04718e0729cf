#include <fmt/format.h>

#include <cstdio>

#include "tests/bench/counters/pieces.hpp"
#include "tests/support/captured_counters.hpp"

namespace weft::bench::counters {

void measure_captured(Figures& figures) {
  double fields = 0, right = 0, captures = 0;
  for (const CaptureVerdict& one : judge_captures()) {
    ++captures;
    fields += static_cast<double>(one.fields);
    right += static_cast<double>(one.right);
    for (const auto& wrong : one.wrong) fmt::print("  {}: {}\n", one.file, wrong);
  }
  figures.add("captured_files", captures);
  figures.add("captured_fields", fields);
  figures.add("captured_right", right / fields, "1.000");
}

}  // namespace weft::bench::counters
