// Whatever the bytes: flows and refused lines, and the flows are written and read back the same.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "balancer/demand/flow_file.hpp"
#include "tests/support/flow_text.hpp"
#include "topology/model/clos.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const weft::Fabric fabric = *weft::make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 2});
  const auto file = weft::demand::read_flows(fabric, {reinterpret_cast<const char*>(data), size});
  const auto written = weft::demand::write_flows(fabric, file.demand);
  const auto again = weft::demand::read_flows(fabric, written);
  if (!again.refused.empty() || weft::demand::write_flows(fabric, again.demand) != written) std::abort();
  return 0;
}
