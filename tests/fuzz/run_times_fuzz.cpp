// A table of times of runs: an error that may be shown, or files with times whose names may be.
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "collectors/compare/run_times.hpp"
#include "topology/base/outside_text.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  const auto times = compare::parse_run_times({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!times) return is_harmless(times.error().message) ? 0 : (std::abort(), 0);
  for (const auto& [file, moment] : *times)
    if (!is_harmless(file) || (moment.celsius && !std::isfinite(*moment.celsius))) std::abort();
  return 0;
}
