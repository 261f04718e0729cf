// Whatever `scontrol show node` or `show reservation` says: an error, or nodes of which each object stands
// somehow, and a mark only where a reason or a reservation of ours names one.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "balancer/export/slurm_reservation.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft::exports;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto reservations = parse_slurm_reservations(text);
  if (reservations)
    for (const SlurmReservation& one : *reservations)
      if (const auto mark = mark_in_reservation(one, one.nodes);
          mark && reservation_name(*mark, one.nodes) != one.name)
        std::abort();
  const auto nodes = parse_slurm_nodes(text);
  if (!nodes) return 0;
  for (const SlurmNode& node : *nodes) {
    if (node.name.find(':') != std::string::npos) continue;  // an object of a feature
    if (reservations) {
      const auto reserved = reservation_standing(node, *reservations);
      if ((reserved.whose == Whose::weft) != reserved.mark.has_value()) std::abort();
    }
    const auto standing = standing_of(node, node.name);
    if (!standing) std::abort();
    if (standing->mark && (standing->whose != Whose::weft || mark_in_reason(node.reason) != standing->mark))
      std::abort();
    for (const std::string& feature : node.available)
      if (!standing_of(node, feature_object(node.name, feature))) std::abort();
  }
  return 0;
}
