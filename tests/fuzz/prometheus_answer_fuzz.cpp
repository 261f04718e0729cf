// Any bytes as the answer of a Prometheus to every query.
#include <cstdint>
#include <cstdlib>

#include "collectors/counters/prometheus.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/model/clos.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  static const Fabric fabric = make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 2}).value();
  const std::string answer(reinterpret_cast<const char*>(data), size);
  counters::CounterTable table;
  const auto read = counters::read_prometheus(
      fabric, {.presets = {counters::metric_presets().front()}},
      [&](const std::string&) { return Result<std::string>(answer); }, table);
  if (!read && !is_harmless(read.error().message)) std::abort();
  for (const auto* remarks : {&table.unplaced, &table.doubled, &table.refused})
    for (const auto& remark : remarks->first)
      if (!is_harmless(remark)) std::abort();
  return 0;
}
