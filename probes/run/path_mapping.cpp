#include "probes/run/path_mapping.hpp"

#include <algorithm>
#include <utility>

#include "probes/run/engines.hpp"
#include "probes/session/map_script.hpp"
#include "probes/session/watch_subjects.hpp"
#include "topology/model/fabric.hpp"

namespace weft::run {

namespace {

constexpr auto kMappingRetry = std::chrono::seconds(5);
constexpr auto kMappingPause =
    std::chrono::seconds(10);  // before one that routes, incidents or late NICs ask for
/// Paths are mapped again by themselves, for routes move without a loss: a twentieth of the time at most.
constexpr auto kMappingInterval = std::chrono::seconds(60);
constexpr int kMappingShare = 20, kPauseShare = 4;

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

std::optional<Result<MappedPlan>> PathMapping::take() {
  if (!is_over_) return std::nullopt;
  return std::exchange(made_, std::nullopt);
}

void PathMapping::run(const std::stop_token& stop) {
  made_ = map_(stop);
  is_over_ = true;
}

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

void MappingTimes::begin(Nanoseconds now) {
  next_ = Nanoseconds::max();
  began_ = now;
}

void MappingTimes::take_over(Nanoseconds now) {
  began_ = ended_ = now;
  next_ = now + kMappingPause;
}

void MappingTimes::plan_next() {
  next_ = ended_ + std::max<Nanoseconds>(kMappingInterval, kMappingShare * (ended_ - began_));
}

void MappingTimes::retry(Nanoseconds now) { next_ = now + kMappingRetry; }

void MappingTimes::ask_after_pause() {
  const auto pause = std::max<Nanoseconds>(kMappingPause, kPauseShare * (ended_ - began_));
  next_ = std::min(next_, ended_ + pause);
}

void MappingTimes::ask_soon() { next_ = std::min<Nanoseconds>(next_, ended_ + kMappingPause); }

}  // namespace weft::run
