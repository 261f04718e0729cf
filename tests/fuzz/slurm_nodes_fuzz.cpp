// Whatever `scontrol show node` says: an error, or nodes of which each object stands somehow, and a mark only
// where a reason of ours names one.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "balancer/export/slurm_node.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft::exports;
  const auto nodes = parse_slurm_nodes({reinterpret_cast<const char*>(data), size});
  if (!nodes) return 0;
  for (const SlurmNode& node : *nodes) {
    if (node.name.find(':') != std::string::npos) continue;  // an object of a feature
    const auto standing = standing_of(node, node.name);
    if (!standing) std::abort();
    if (standing->mark && (standing->whose != Whose::weft || mark_in_reason(node.reason) != standing->mark))
      std::abort();
    for (const std::string& feature : node.available)
      if (!standing_of(node, feature_object(node.name, feature))) std::abort();
  }
  return 0;
}
