#include "tests/bench/verdicts/trial.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/compose.hpp"
#include "probes/session/coordinator_loop.hpp"
#include "topology/base/check.hpp"

namespace weft::bench {
namespace {

// As cli/sweep_arguments.cpp has them where nothing is live.
SweepOptions simulated_options(std::uint64_t seed) {
  SweepOptions options;
  options.load = LoadLevel::full;
  options.answers_per_second = 100'000;
  options.probes_per_second = 1500;
  options.seed = seed;
  return options;
}

}  // namespace

Swept sweep_simulated(const SmallFabric& fabric, const std::vector<DrawnFault>& faults, std::uint64_t seed,
                      const std::vector<NodeId>& hosts) {
  const Fabric& known = fabric.fabric;
  std::vector<FaultSpec> specs;
  for (const DrawnFault& fault : faults) specs.push_back(fault.spec);
  Sweep sweep(known, fabric.addresses.book, simulated_options(seed), RunId(seed));
  std::vector<ExpectedHost> expected;
  std::vector<std::string> names;
  for (const NodeId host : known.hosts()) {
    const bool takes_part = hosts.empty() || std::ranges::find(hosts, host) != hosts.end();
    ExpectedHost one{host, {}};
    for (const PortId port : known.ports_of(host)) {
      if (!known.port(port).link) continue;
      if (takes_part)
        one.nics.push_back({known.name_of_nic(port), port});
      else
        sweep.leave_out(port);
    }
    if (one.nics.empty()) continue;
    names.push_back(known.name_of(host));
    expected.push_back(std::move(one));
  }
  Coordinator coordinator(known, sweep, {RunId(seed), {}}, expected);
  const auto engines = simulated_engines(known, fabric.addresses.book, specs, seed);
  const auto done = coordinate_in_process(coordinator, names, engines, [](const Progress&) {}, {});
  WEFT_CHECK(done.has_value());
  auto report = sweep.finish();
  return {sweep.observations(), std::move(report)};
}

std::string command_of(const SmallFabric& fabric, const std::vector<DrawnFault>& faults, std::uint64_t seed) {
  std::string text = fmt::format("weft simulate {}.yaml --seed {}", fabric.name, seed);
  for (const DrawnFault& fault : faults)
    text += fmt::format(" --fault '{}'", to_string(fabric.fabric, fault.spec));
  return text;
}

}  // namespace weft::bench
