#include "probes/session/map_script.hpp"

namespace weft::session {

MapScript::MapScript(const Fabric& fabric, const AddressBook& addresses, const SweepOptions& options,
                     RunId run)
    : in_{fabric, addresses, options, run}, results_(in_), stage_(in_, results_) {}

std::vector<WorkItem> MapScript::next_wave() {
  auto work = stage_.next_wave();
  if (work.empty()) {
    results_.learner.suppose_silent();
    results_.learner.narrow_ended();
    results_.learner.sort();
  }
  return work;
}

}  // namespace weft::session
