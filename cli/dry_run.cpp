#include "cli/dry_run.hpp"

#include <fmt/format.h>

#include "cli/exit_status.hpp"
#include "cli/stamp.hpp"
#include "collectors/report/sending.hpp"
#include "probes/run/cluster.hpp"
#include "probes/run/engines.hpp"
#include "probes/session/dry_run.hpp"

namespace weft::cli {
namespace {

constexpr std::size_t kColumns = 80;

std::string engine_words(run::EngineKind engine) {
  switch (engine) {
    case run::EngineKind::automatic:
      return "auto: queue pairs where the NICs have RDMA devices, else raw packets; the agents find out";
    case run::EngineKind::verbs:
      return "verbs: RDMA queue pairs, and raw packets to trace";
    default:
      return fmt::format("{}: packets from raw sockets, UDP port 4791", to_string(engine));
  }
}

std::string marking_words(const run::PacketClass& packets) {
  const auto said = [](const char* name, const auto& value, const char* variable) {
    return value ? fmt::format("{} {}", name, *value)
                 : fmt::format("{} of the hosts' {}, else 0", name, variable);
  };
  return said("traffic class", packets.traffic_class, "NCCL_IB_TC") + "; " +
         said("service level", packets.service_level, "NCCL_IB_SL");
}

}  // namespace

void add_dry_run_option(po::options_description& options) {
  options.add_options()(
      "dry-run", "send nothing and start no agent: say what would be sent, by whom, how fast and how long");
}

bool dry_run_was_asked(const po::variables_map& values) { return values.count("dry-run") != 0; }

int dry_run(const po::variables_map& values, const DryRunPlace& place, session::Sweep& sweep,
            std::uint64_t seed, std::stop_token stop) {
  const auto with = nics_with_agent(place.site);
  for (const PortId nic : nics_without_agent(place.site, place.fabric)) sweep.exclude(nic);
  const auto open = run::simulated_engines(place.fabric, place.addresses, {}, seed);
  auto plan = session::dry_run(place.fabric, sweep, with, {RunId(seed), {}}, open, stop);
  if (stop.stop_requested()) return kExitInterrupted;
  if (!plan) return report(plan.error());
  const report::DryRun told{.hosts = place.site.hosts.size(),
                            .plan = std::move(*plan),
                            .agents = place.agents,
                            .engine = engine_words(place.site.agent_options.engine),
                            .marking = marking_words(place.site.agent_options.packets)};
  const auto json = wants_json(values);
  if (!json) return report(json.error());
  fmt::print("{}", *json ? sending_json(place.fabric, told, stamp_now())
                         : sending_table(place.fabric, told, kColumns));
  return kExitHealthy;
}

}  // namespace weft::cli
