// The plan that watchers share: what is read holds together, and is written as what reads back the same.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "probes/watch/plan_record.hpp"
#include "topology/model/clos.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  static const Fabric fabric = make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 1}).value();
  const auto plan = watch::decode_plan(fabric, {}, {reinterpret_cast<const char*>(data), size});
  if (!plan) return 0;
  const auto again = watch::decode_plan(fabric, {}, watch::encode_plan(fabric, *plan, {}));
  if (!again || !watch::same_ways(*plan, *again)) std::abort();
  return 0;
}
