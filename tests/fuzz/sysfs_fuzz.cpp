// What files of sysfs and answers of the kernel's DCB interface say: any bytes are read without harm, and a
// CPU list that reads writes to one that reads to the same.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "topology/host/nic_settings.hpp"
#include "topology/host/sysfs_values.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto cpus = weft::host::parse_cpu_list(text);
      cpus && weft::host::parse_cpu_list(weft::host::to_ranges(*cpus)) != cpus)
    std::abort();
  if (const auto speed = weft::host::parse_pcie_speed(text); speed && !(speed->in_giga_transfers() > 0))
    std::abort();
  if (const auto rate = weft::host::parse_port_rate(text); rate && !(rate->bits_per_second() > 0))
    std::abort();
  if (const auto state = weft::host::parse_port_state(text); state && state->empty()) std::abort();
  for (const auto& [name, value] : weft::host::decode_dcb(std::as_bytes(std::span(data, size))))
    if (value.empty()) std::abort();
  return 0;
}
