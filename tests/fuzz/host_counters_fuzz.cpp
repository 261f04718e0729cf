// Any bytes as what an agent tells of its NICs: nothing but its own port moves, all is kept and read back.
#include <cstdint>
#include <cstdlib>

#include "collectors/counters/host_counters.hpp"
#include "collectors/counters/port_warnings.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/model/clos.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  static const Fabric fabric = make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 2}).value();
  const PortId port = fabric.find_nic("host1").value();
  const counters::HostPorts own{counters::host_source("host1"), {{"10.0.0.1", port}}};
  const Nanoseconds now = std::chrono::hours(490'000);
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  counters::HostCounters hosts;
  if (const auto taken = hosts.take(fabric, own, text, now); !taken) {
    if (!is_harmless(taken.error().message)) std::abort();
    return 0;
  }
  const Nanoseconds later = now + std::chrono::hours(1);
  static_cast<void>(hosts.take(fabric, own, text, later));
  counters::CounterTable table;
  hosts.add_to(fabric, later, table);
  if (table.refused.count > 0 || table.unplaced.count > 0) std::abort();
  for (const auto& series : table.series()) {
    if (series.port != port || table.source_name(series.source) != own.source) std::abort();
    for (const auto& point : series.points)
      if (point.at > later) std::abort();
  }
  for (const auto& words : table.epoch_words())
    if (!is_harmless(words.boot) || !is_harmless(words.serial)) std::abort();
  table.sort_points();
  static_cast<void>(counters::port_warnings(fabric, table, later));
  for (const auto& [begin, kept] : counters::readings_to_keep(fabric, table, {})) {
    counters::CounterTable again;
    if (!counters::read_counter_file(fabric, kept, "kept", "", later, again)) std::abort();
  }
  return 0;
}
