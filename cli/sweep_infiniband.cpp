#include "cli/sweep_infiniband.hpp"

#include <algorithm>

#include "cli/agent_session.hpp"
#include "cli/compose.hpp"
#include "cli/exit_status.hpp"
#include "cli/infiniband_lab.hpp"
#include "cli/infiniband_reading.hpp"
#include "cli/interrupt.hpp"
#include "cli/lab_place.hpp"
#include "cli/sweep_answer.hpp"
#include "cli/sweep_arguments.hpp"
#include "collectors/counters/counter_evidence.hpp"

namespace weft {
namespace {

constexpr const char* kAdapter = "ibsim0";  // what the preload library calls every adapter
constexpr IpAddress::V4 kLoopback{127, 0, 0, 1};

void note_counters(Sweep& sweep, const InfinibandReading& reading, const CounterReading& after) {
  for (ChannelEvidence& sign : counter_evidence(reading.found, &reading.counters, after))
    if (const auto channel = reading.match.expected[sign.channel.value()]) {
      sign.channel = *channel;
      sweep.note(std::move(sign));
    }
}

/// An agent beside each of `nics`; the lab must outlive the site.
Result<AgentSite> site_of(const IbLab& lab, const std::vector<PortId>& nics, const AddressBook& addresses) {
  auto program = own_program();
  if (!program) return pass_on(program);
  AgentSite site{.program = std::move(*program), .manner = {.engine = "ibsim"}};
  for (const PortId nic : nics)
    site.hosts.push_back(
        {lab.fabric.port(nic).node, {{{kAdapter, addresses.address_of(nic).value_or(IpAddress())}, nic}}});
  site.launch = [&lab, nics](NodeId host, ChildSpec agent) {
    const auto on_host = [&](PortId nic) { return lab.fabric.port(nic).node == host; };
    agent.argv = in_directory(lab.directory, std::move(agent.argv));
    agent.env = lab.environment_at(*std::ranges::find_if(nics, on_host));
    return ChildProcess::start(agent);
  };
  return site;
}

Result<int> sweep_lab(const po::variables_map& values, const SweepOptions& options, const IbLab& lab) {
  const auto mads = open_lab_mads(lab);
  if (!mads) return pass_on(mads);
  const auto reading = read_infiniband(**mads, lab.fabric);
  if (!reading) return pass_on(reading);
  const auto addresses = plan_addresses(lab.fabric, IpFamily::v4);
  if (!addresses) return pass_on(addresses);
  note_missing_load(values);
  const auto nics = lab.agents();
  const auto secrets = new_run_secrets();
  Sweep sweep(lab.fabric, addresses->book, options, secrets.run);
  for (const PortId nic : lab.fabric.nics())
    if (std::find(nics.begin(), nics.end(), nic) == nics.end()) sweep.leave_out(nic);
  for (const auto& note : routing_notes(*reading, lab)) fmt::print(stderr, "weft: {}\n", note);
  sweep.know_paths([&](PathLearner& learner) {
    for (const auto& [why, labels] : adopt_paths(learner, *reading, nics))
      fmt::print(stderr, "weft: {} labels, counted for each source, cannot be probed: {}\n", labels, why);
  });
  for (ChannelEvidence& sign : match_evidence(lab.fabric, reading->found, reading->match))
    sweep.note(std::move(sign));
  const auto site = site_of(lab, nics, addresses->book);
  if (!site) return pass_on(site);
  ProgressLine progress;
  const Interrupt interrupt;
  const auto done = run_with_agents(
      *site, ListenAddress{IpAddress(kLoopback)}, lab.fabric, sweep, secrets,
      [&](const Progress& p) { progress.show(p); }, interrupt.token());
  if (interrupt.happened()) return kExitInterrupted;
  if (!done) return pass_on(done);
  const auto after = read_counters(**mads, reading->found);
  if (!after) return pass_on(after);
  note_counters(sweep, *reading, *after);
  const auto tables = read_tables(**mads, reading->found, reading->routes);
  if (!tables) return pass_on(tables);
  if (const auto changed = changed_routes(*reading, tables->tables, nics); changed > 0)
    fmt::print(stderr,
               "weft: the subnet manager changed {} routes during the sweep: what was lost may be on others; "
               "sweep again\n",
               changed);
  return answer(values, lab.fabric, sweep, progress);
}

}  // namespace

int sweep_infiniband_lab(const po::variables_map& values, const SweepOptions& options,
                         const std::string& name, const Arguments& words) {
  const auto lab = ib_lab_open(name, ib_lab_root());
  if (!lab) return report(lab.error());
  if (const auto entered = enter_infiniband_lab(*lab, words); !entered) return report(entered.error());
  const auto status = sweep_lab(values, options, *lab);
  return status ? *status : report(status.error());
}

}  // namespace weft
