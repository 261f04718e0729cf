// A sweep's document, a zero byte, its observations: an error that may be shown, or a run whose cells are
// above zero and finite, which differs from itself in nothing; whole, and its probes alone.
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "collectors/compare/layers.hpp"
#include "collectors/compare/measured_run.hpp"
#include "topology/base/outside_text.hpp"

namespace {

using namespace weft;

void check(const compare::MeasuredRun& measured) {
  for (const auto& culprit : measured.culprits)
    if (!is_harmless(culprit.place)) std::abort();
  for (const auto& [nic, paused] : measured.paused)
    if (!is_harmless(nic)) std::abort();
  const auto run = compare::run_of(measured);
  for (const auto& [cell, value] : run.cells)
    if (!(value.number > 0) || !std::isfinite(value.number)) std::abort();
  if (run.cells.empty()) return;
  const std::vector<compare::Run> runs(6, run);
  const std::vector<compare::MeasuredRun> all(6, measured);
  const auto comparison = compare::compare(runs, runs, {.design = compare::Design::blocks});
  if (!comparison || comparison->decision() == compare::Decision::differs) std::abort();
  if (!compare::reasons_of(all, all, *comparison).empty()) std::abort();
  // Against a run that is half as fast everywhere: shares may be anything, but no crash.
  auto other = measured;
  for (auto& flow : other.flows) flow.delivered *= 0.5;
  auto half = *comparison;
  for (auto& cell : half.cells) cell.test = compare::CellResult::Test{.p = 0};
  compare::reasons_of(all, std::vector(6, other), half);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto middle = std::min(text.find('\0'), text.size());
  const auto rest = text.substr(std::min(middle + 1, text.size()));
  for (const bool probes_alone : {false, true}) {
    auto measured = compare::read_measured_run("fuzz", text.substr(0, middle), rest, probes_alone);
    if (!measured && !is_harmless(measured.error().message)) std::abort();
    if (!measured) continue;
    if (const auto read = compare::read_ways(rest, *measured); !read && !is_harmless(read.error().message))
      std::abort();
    check(*measured);
  }
  return 0;
}
