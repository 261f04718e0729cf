// Any bytes as what a switch or a script says of counters: read, made a history and observations of, checked.
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "collectors/counters/counter_check.hpp"
#include "collectors/counters/counter_observations.hpp"
#include "collectors/counters/switch_text.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/model/clos.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  static const Fabric fabric = make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 2}).value();
  counters::CounterTable table;
  const auto read =
      counters::read_switch_text(fabric, std::string_view(reinterpret_cast<const char*>(data), size), "fuzz",
                                 "leaf1", std::chrono::hours(600'000), table);
  if (!read && !is_harmless(read.error().message)) std::abort();
  counters::each_history(fabric, table, [](std::span<const counters::SeriesHistory> of_port) {
    for (const auto& history : of_port)
      for (const auto& window : history.windows)
        if (window.to <= window.from) std::abort();
  });
  for (const ChannelCount& count : counters::channel_counts(fabric, table))
    if (!(count.exposure > 0) || !std::isfinite(count.exposure) || count.end <= count.begin ||
        count.age.count() < 0 || !is_harmless(count.source))
      std::abort();
  const auto check = counters::check_counters(fabric, table);
  if (!is_harmless(outside_text(counters::check_text(fabric, table, check, 80)))) std::abort();
  return 0;
}
