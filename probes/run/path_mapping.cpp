#include "probes/run/path_mapping.hpp"

#include <utility>

#include "probes/run/engines.hpp"
#include "probes/session/map_script.hpp"
#include "probes/session/watch_subjects.hpp"
#include "topology/model/fabric.hpp"

namespace weft::run {

std::optional<Result<MappedPlan>> PathMapping::take() {
  if (!is_over_) return std::nullopt;
  return std::exchange(made_, std::nullopt);
}

void PathMapping::run(const std::stop_token& stop) {
  made_ = map_(stop);
  is_over_ = true;
}

namespace {

Result<MappedPlan> trace_paths(const WatchPlace& place, const WatchOptions& options,
                               const std::stop_token& stop) {
  const Fabric& fabric = place.fabric;
  WEFT_TRY(const auto bus, bus::connect_nats(place.runs, session::standing_run(fabric.name()),
                                             std::string(session::kCoordinator)));
  const auto secrets = new_run_secrets();
  session::MapScript script(fabric, place.addresses, {.answers_per_second = options.answers_per_second},
                            secrets.run);
  session::Coordinator coordinator(fabric, script, secrets, place.hosts, {.gather = options.gather});
  coordinator.name_targets(place.nics);
  WEFT_TRY_VOID(coordinate(
      *bus, coordinator, [](const session::Progress&) {}, stop));
  std::vector<PortId> nics;
  for (const datapath::RunNic& nic : place.nics)
    if (!script.out().contains(nic.nic)) nics.push_back(nic.nic);
  return MappedPlan{make_standing_plan(fabric, script.learner(), nics, options.limits),
                    fabric.nics().size() - nics.size()};
}

}  // namespace

Result<MappedPlan> map_paths(const WatchPlace& place, const WatchOptions& options, const HeardHosts& heard,
                             const std::stop_token& stop) {
  if (!options.read_plan) return trace_paths(place, options, stop);
  std::vector<PortId> nics;
  for (const session::ExpectedHost& host : place.hosts)
    if (heard.contains(place.fabric.name_of(host.host)))
      for (const session::NicAssignment& nic : host.nics) nics.push_back(nic.nic);
  if (nics.empty()) return fail(ErrorKind::absent, "no agent has said that it is there");
  return options.read_plan(nics, stop);
}

}  // namespace weft::run
