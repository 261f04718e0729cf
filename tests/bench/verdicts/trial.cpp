#include "tests/bench/verdicts/trial.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "probes/engine/sim/sim_fabric.hpp"
#include "probes/plan/scope.hpp"
#include "probes/session/coordinator_loop.hpp"
#include "topology/base/check.hpp"
#include "topology/model/fabric.hpp"

namespace weft::bench {
namespace {

// As cli/sweep_arguments.cpp has them where nothing is live.
session::SweepOptions simulated_options(std::uint64_t seed, session::LoadLevel load) {
  session::SweepOptions options;
  options.load = load;
  options.answers_per_second = 100'000;
  options.probes_per_second = 1500;
  options.seed = seed;
  return options;
}

session::OpenEngines engines_of(const SweepCase& wanted) {
  sim::SimOptions options;
  options.seed = wanted.seed;
  options.faults = wanted.faults;
  options.stalls = wanted.stalls;
  options.background_loss = wanted.background;
  const SmallFabric& place = *wanted.fabric;
  return [world = sim::SimFabric::make(place.fabric, place.addresses.book, options)](
             const session::NicAssignment& assigned, const packet::RunSecrets&,
             const datapath::SharedNics&) -> Result<session::NicEngines> {
    const auto engine = world->engine(assigned.nic);
    return session::NicEngines{engine, engine};
  };
}

}  // namespace

Swept sweep_simulated(const SweepCase& wanted) {
  const Fabric& fabric = wanted.fabric->fabric;
  session::Sweep sweep(fabric, wanted.fabric->addresses.book, simulated_options(wanted.seed, wanted.load),
                       RunId(wanted.seed));
  std::vector<session::ExpectedHost> expected;
  std::vector<std::string> names;
  std::vector<PortId> chosen;
  for (const NodeId host : fabric.hosts()) {
    const bool takes_part =
        wanted.hosts.empty() || std::ranges::find(wanted.hosts, host) != wanted.hosts.end();
    session::ExpectedHost one{host, {}};
    for (const PortId port : fabric.ports_of(host)) {
      if (!fabric.port(port).link) continue;
      if (takes_part) {
        one.nics.push_back({fabric.name_of_nic(port), port});
        chosen.push_back(port);
      } else {
        sweep.leave_out(port);
      }
    }
    if (one.nics.empty()) continue;
    names.push_back(fabric.name_of(host));
    expected.push_back(std::move(one));
  }
  if (!wanted.hosts.empty()) sweep.limit_to(plan::channels_in_scope(fabric, chosen));
  session::Coordinator coordinator(fabric, sweep, {RunId(wanted.seed), {}}, expected);
  const auto done =
      coordinate_in_process(coordinator, names, engines_of(wanted), [](const session::Progress&) {}, {});
  WEFT_CHECK(done.has_value());
  if (wanted.healthy_counters)
    for (std::uint32_t c = 0; c < fabric.channel_count(); ++c)
      for (const auto& [kind, exposure] :
           {std::pair(CounterKind::codewords, 4.7e9), {CounterKind::frames, 1e7}})
        sweep.note(ChannelCount{.channel = ChannelId(c),
                                .kind = kind,
                                .exposure = exposure,
                                .end = std::chrono::seconds(60),
                                .source = fmt::format("{} of its switch", to_string(kind))});
  auto report = sweep.finish();
  return {sweep.observations(), std::move(report)};
}

std::string command_of(const SweepCase& wanted) {
  std::string text = fmt::format("weft simulate {}.yaml --seed {}", wanted.fabric->name, wanted.seed);
  for (const FaultSpec& fault : wanted.faults)
    text += fmt::format(" --fault '{}'", to_string(wanted.fabric->fabric, fault));
  if (wanted.background > Fraction())
    text += fmt::format(" --background {:.6g}%", wanted.background.as_percent());
  if (wanted.load == session::LoadLevel::none) text += " --load none";
  return text;
}

}  // namespace weft::bench
