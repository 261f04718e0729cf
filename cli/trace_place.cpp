#include "cli/trace_place.hpp"

#include <map>
#include <set>

#include "cli/agent.hpp"
#include "cli/cluster_arguments.hpp"
#include "cli/exit_status.hpp"
#include "cli/interrupt.hpp"
#include "cli/lab_place.hpp"
#include "probes/run/agent_run.hpp"
#include "probes/run/engines.hpp"
#include "probes/session/coordinator_loop.hpp"

namespace weft::cli {
namespace {

std::vector<NodeId> hosts_of(const Fabric& fabric, const Trace& trace) {
  std::set<NodeId> hosts;
  for (const PortId nic : trace.nics()) hosts.insert(fabric.port(nic).node);
  return {hosts.begin(), hosts.end()};
}

int answer(Trace& trace, const Interrupt& interrupt, const Result<void>& done) {
  if (interrupt.happened()) return kExitInterrupted;
  return done ? trace.answer() : report(done.error());
}

void ignore(const session::Progress&) {}

}  // namespace

int trace_in_lab(const po::variables_map& values, const TraceWords& words, const StartTrace& start) {
  const auto lab = run::open_lab_for_run(values["lab"].as<std::string>(), lab_state_root());
  if (!lab) return report(lab.error());
  const Interrupt interrupt;
  const auto secrets = run::new_run_secrets();
  const TraceGround ground{TracePlace::lab,
                           lab->fabric(),
                           lab->addresses().book,
                           {.answers_per_second = kLabAnswersPerSecond},
                           secrets.run};
  const auto trace = start(ground);
  if (!trace) return report(trace.error());
  auto site = run::lab_site(*lab, hosts_of(lab->fabric(), **trace));
  if (!site) return report(site.error());
  choose_engine(*site, words);
  return answer(
      **trace, interrupt,
      run_with_agents(*site, run::ListenAddress{lab->coordinator_address()}, lab->fabric(),
                      (*trace)->script(), secrets, ignore, interrupt.token(), {.limit = words.limit}));
}

int trace_in_cluster(const po::variables_map& values, const TraceWords& words, const files::FabricFile& file,
                     const StartTrace& start) {
  const auto secrets = run::new_run_secrets();
  const TraceGround ground{TracePlace::cluster,
                           file.fabric,
                           file.addresses,
                           {.answers_per_second = kLiveAnswersPerSecond},
                           secrets.run};
  const auto trace = start(ground);
  if (!trace) return report(trace.error());
  const auto cluster = cluster_to_trace(values, words, file, hosts_of(file.fabric, **trace));
  if (!cluster) return report(cluster.error());
  const Interrupt interrupt;
  return answer(**trace, interrupt,
                run_with_agents(cluster->site, cluster->bus, file.fabric, (*trace)->script(), secrets, ignore,
                                interrupt.token(), cluster->timing));
}

int trace_in_simulation(const TraceWords& words, const files::FabricFile& file, const StartTrace& start) {
  const auto addresses = plan_addresses(file.fabric, file.lab.family);
  if (!addresses) return report(addresses.error());
  const TraceGround ground{TracePlace::simulation,
                           file.fabric,
                           addresses->book,
                           {.answers_per_second = kLabAnswersPerSecond},
                           RunId(1)};
  const auto trace = start(ground);
  if (!trace) return report(trace.error());
  std::map<NodeId, session::ExpectedHost> hosts;
  const auto nics = (*trace)->nics();
  for (const PortId nic : std::set<PortId>(nics.begin(), nics.end())) {
    const NodeId node = file.fabric.port(nic).node;
    auto& host = hosts.try_emplace(node, session::ExpectedHost{node, {}}).first->second;
    host.nics.push_back({file.fabric.name_of_nic(nic), nic});
  }
  std::vector<session::ExpectedHost> expected;
  std::vector<std::string> names;
  for (const auto& [node, host] : hosts) {
    expected.push_back(host);
    names.push_back(file.fabric.name_of(node));
  }
  session::Coordinator coordinator(file.fabric, (*trace)->script(), {ground.run, {}}, expected);
  const auto open = run::simulated_engines(file.fabric, addresses->book, {}, 1, nullptr, {}, {}, words.hash);
  const auto done = coordinate_in_process(coordinator, names, open, ignore, {});
  return done ? (*trace)->answer() : report(done.error());
}

}  // namespace weft::cli
