// Any bytes as what a kernel, a driver and a module say of a NIC: the first says which. What is read is made
// counters and lines of, and those read back.
#include <cmath>
#include <cstdint>

#include "collectors/counters/counter_file.hpp"
#include "collectors/counters/nic_names.hpp"
#include "collectors/counters/nic_text.hpp"
#include "topology/base/check.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/host/ethtool_answers.hpp"
#include "topology/host/mlxlink_answer.hpp"
#include "topology/host/module_eeprom.hpp"
#include "topology/model/clos.hpp"

namespace {

using namespace weft;

void merge(Result<NamedCounts> counts, NicReading& into) {
  if (counts) into.kernel.merge(*counts);
  if (!counts) WEFT_CHECK(is_harmless(counts.error().message));
}

/// Half pages one after another, in the order in which they are asked for.
void read_as_module(ByteSpan bytes, NicReading& into) {
  const auto state = host::read_module([&](const auto&) -> Result<std::vector<std::byte>> {
    const auto page = bytes.first(std::min(bytes.size(), host::kHalfPage));
    bytes = bytes.subspan(page.size());
    return std::vector<std::byte>(page.begin(), page.end());
  });
  if (!state) return;
  WEFT_CHECK(is_harmless(state->vendor + state->part + state->serial));
  for (const ModuleLane& lane : state->lanes)
    for (const auto& value : {lane.rx_mw, lane.tx_mw, lane.bias_ma})
      WEFT_CHECK(!value || (std::isfinite(*value) && *value >= 0));
  for (const ModuleDiagnostic& one : state->diagnostics) WEFT_CHECK(std::isfinite(one.value));
  into.module = *state;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  static const Fabric fabric = make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 2}).value();
  static constexpr std::array<const char*, 5> kDrivers{"mlx5_core", "bnxt_en", "ice", "ionic", "e1000e"};
  const auto bytes = std::as_bytes(std::span(data, size)).subspan(1);
  NicReading reading{.interface = "eth0", .driver = kDrivers[data[0] / 8 % kDrivers.size()]};
  switch (data[0] % 8) {
    case 0:
      if (const auto fec = host::decode_fec(bytes)) reading.kernel = fec->counts;
      break;
    case 1:
      merge(host::decode_statistics(bytes), reading);
      merge(host::decode_pause(bytes), reading);
      merge(host::decode_link(bytes), reading);
      break;
    case 2:
      static_cast<void>(host::decode_family(bytes));
      static_cast<void>(host::decode_eeprom(bytes));
      break;
    case 3:
      reading.driver_counters =
          host::named_statistics(bytes, std::vector<std::uint64_t>(size / 32, 1'000 + data[0]));
      break;
    case 4:
      host::take_aer({reinterpret_cast<const char*>(data) + 1, size - 1}, "fatal", reading.pcie);
      break;
    case 5:
      if (auto answer = host::read_mlxlink({reinterpret_cast<const char*>(data) + 1, size - 1})) {
        reading.driver_counters = std::move(answer->counts);
        reading.module = std::move(answer->module);
      }
      break;
    default:
      read_as_module(bytes, reading);
  }
  const auto counts = counters::nic_counts(reading);
  const std::vector<counters::NicAt> nics{{std::chrono::hours(1), "host1/p1", reading}};
  const auto lines = counters::nic_lines("", "boot", nics);
  counters::CounterTable table;
  const auto read = counters::read_counter_file(fabric, lines, "fuzz", "", std::chrono::hours(2), table);
  WEFT_CHECK(read.has_value() == !counts.empty());
  WEFT_CHECK(table.refused.count == 0 && table.points() == counts.size());
  WEFT_CHECK(!counters::nic_text(nics, 80).empty());
  return 0;
}
