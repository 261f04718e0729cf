#include "probes/run/path_mapping.hpp"

#include <utility>

#include "probes/run/engines.hpp"
#include "probes/session/map_script.hpp"
#include "topology/model/fabric.hpp"

namespace weft::run {

std::optional<Result<MappedPlan>> PathMapping::take() {
  if (!is_over_) return std::nullopt;
  return std::exchange(made_, std::nullopt);
}

void PathMapping::run(const std::stop_token& stop) {
  made_ = map(stop);
  is_over_ = true;
}

Result<MappedPlan> PathMapping::map(const std::stop_token& stop) const {
  const Fabric& fabric = place_.fabric;
  WEFT_TRY(const auto bus,
           bus::connect_nats(place_.runs, standing_run(fabric.name()), std::string(session::kCoordinator)));
  const auto secrets = new_run_secrets();
  session::MapScript script(fabric, place_.addresses, {.answers_per_second = options_.answers_per_second},
                            secrets.run);
  session::Coordinator coordinator(fabric, script, secrets, place_.hosts, {.gather = options_.gather});
  coordinator.name_targets(place_.nics);
  WEFT_TRY_VOID(coordinate(
      *bus, coordinator, [](const session::Progress&) {}, stop));
  std::vector<PortId> nics;
  for (const datapath::RunNic& nic : place_.nics)
    if (!script.out().contains(nic.nic)) nics.push_back(nic.nic);
  return MappedPlan{make_standing_plan(fabric, script.learner(), nics, options_.limits),
                    fabric.nics().size() - nics.size()};
}

}  // namespace weft::run
