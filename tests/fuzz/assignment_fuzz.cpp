// Whatever the bytes: an error, or QPs that a change can start from.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "balancer/assign/assignment_reader.hpp"
#include "balancer/demand/collectives.hpp"
#include "topology/model/clos.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const weft::Fabric fabric = *weft::make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 2});
  const auto before =
      weft::assign::parse_assignment(fabric, {reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!before) return 0;
  const auto demand = weft::demand::make_shift(fabric.nics(), 2, weft::Bytes(1000));
  const auto after = weft::assign::reassign(fabric, demand, {.qps = 2, .reverse = true}, *before);
  if (after.phases.at(0).load.ratio > 1 + 1e-9) std::abort();
  return 0;
}
