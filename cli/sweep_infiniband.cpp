#include "cli/sweep_infiniband.hpp"

#include <algorithm>
#include <functional>

#include "cli/agent_arguments.hpp"
#include "cli/cluster_arguments.hpp"
#include "cli/exit_status.hpp"
#include "cli/flow_arguments.hpp"
#include "cli/infiniband_lab.hpp"
#include "cli/infiniband_reading.hpp"
#include "cli/infiniband_source.hpp"
#include "cli/interrupt.hpp"
#include "cli/lab_place.hpp"
#include "cli/sweep_answer.hpp"
#include "cli/sweep_arguments.hpp"
#include "cli/time_limit.hpp"
#include "collectors/counters/counter_evidence.hpp"
#include "probes/run/agent_run.hpp"
#include "probes/run/engines.hpp"
#include "topology/lab/netns/lab_control.hpp"
#include "topology/model/fabric.hpp"

namespace weft::cli {
namespace {

constexpr IpAddress::V4 kLoopback{127, 0, 0, 1};
constexpr const char* kToldWithoutProbes = "the cabling, the forwarding tables and the counters";

void note_counters(session::Sweep& sweep, const InfinibandReading& reading,
                   const counters::CounterReading& after) {
  const auto note = [&](auto& evidence) {
    for (auto& one : evidence)
      if (const auto channel = reading.match.expected[one.channel.value()]) {
        one.channel = *channel;
        sweep.note(std::move(one));
      }
  };
  auto evidence = counter_evidence(reading.found, &reading.counters, after);
  note(evidence.counts);
  note(evidence.channels);
}

/// What lies beyond cables that are down: nothing is known of it, and nothing is said of its cables.
void note_out_of_view(session::Sweep& sweep, const Fabric& fabric, const discover::FabricMatch& match) {
  std::size_t cables = 0;
  for (std::uint32_t c = 0; c < fabric.channel_count(); ++c)
    if (!is_in_view(fabric, match, ChannelId(c)) && c < fabric.reverse(ChannelId(c)).value()) ++cables;
  if (cables == 0) return;
  for (const PortId nic : fabric.nics())
    if (!is_in_view(fabric, match, *fabric.channel_from(nic)))
      sweep.not_tested({fabric.port(nic).node, nic, "the subnet ends before its leaf"});
  print_stderr(
      "weft: {} cables of the file lie beyond what is down: neither of their ends was reached, and nothing "
      "is "
      "known of them\n",
      cables);
}

/// NICs that are there and that nobody can send to: no path of the run crosses their cables, and that is no
/// matter of the run's scope.
void note_unreachable(session::Sweep& sweep, const Fabric& fabric, const InfinibandReading& reading,
                      const std::vector<PortId>& agents) {
  for (const PortId nic : fabric.nics()) {
    if (!reading.match.found_nic[nic.value()]) continue;
    if (!lids_of(reading, nic)) {
      for (const ChannelId channel : {*fabric.channel_from(nic), *fabric.channel_into(nic)})
        sweep.note(discover::evidence_of_no_lid(channel));
    } else if (std::ranges::none_of(
                   agents, [&](PortId agent) { return agent == nic || is_reached(reading, agent, nic); })) {
      sweep.not_tested({fabric.port(nic).node, nic, "no route of the subnet leads to it"});
    }
  }
}

/// Where the agents of a sweep are, and where they reach the coordinator.
struct Place {
  const Fabric& fabric;  // as its file has it
  const AddressBook& gids;
  run::AgentSite site;
  run::BusPlace bus;
  session::CoordinatorTiming timing = {};
  bool sees_a_part = false;  // agents were chosen: what they do not reach is no gap
  bool asks_ports = false;   // agents ask adapters without an agent for echoes, too
  /// Packets that the carrier lost, and not the fabric, until now; absent: it loses none.
  std::function<std::size_t()> dropped = nullptr;
};

/// Echoes over what the agents do not reach from one to the other; the channels they cross join the scope.
std::vector<plan::Echo> echoes_beyond(std::vector<bool>& scope, const session::SweepOptions& options,
                                      const InfinibandReading& reading, const Place& place) {
  constexpr double kMinEchoes = 300;  // of a port: a loss of 3 % shows (three packets lost with .99)
  std::vector<bool> needed(place.fabric.channel_count(), true);
  for (std::size_t c = 0; c < scope.size(); ++c) needed[c] = !scope[c];
  const double packets = options.probes_per_second * options.budget_seconds(session::kEchoShare);
  auto echoes = choose_echoes(possible_echoes(reading, place.fabric, nics_with_agent(place.site)),
                              std::move(needed), static_cast<std::size_t>(packets / kMinEchoes));
  for (const plan::Echo& echo : echoes)
    for (const auto* way : {&echo.there, &echo.back})
      for (const ChannelId channel : *way) scope[channel.value()] = true;
  return echoes;
}

Result<int> sweep_subnet(const po::variables_map& values, const session::SweepOptions& options,
                         mad::Mads& mads, const InfinibandReading& reading, const Place& place) {
  const Fabric& fabric = place.fabric;
  const auto without = nics_without_agent(place.site, fabric);
  auto scope =
      place.sees_a_part ? scope_of(reading, fabric, nics_with_agent(place.site)) : std::vector<bool>();
  const auto pairs = pairs_to_probe(reading, fabric, without, scope);
  const auto echoes =
      place.asks_ports ? echoes_beyond(scope, options, reading, place) : std::vector<plan::Echo>();
  const auto secrets = run::new_run_secrets();
  session::Sweep sweep(fabric, place.gids, options, secrets.run);
  for (const PortId nic : without) sweep.leave_out(nic);
  sweep.limit_to(scope, kToldWithoutProbes);
  sweep.know_echoes(echoes);
  sweep.know_paths([&](plan::PathLearner& learner) {
    for (const auto& [why, labels] : adopt_paths(learner, reading, pairs))
      print_stderr("weft: {} labels, counted for each source, cannot be probed: {}\n", labels, why);
  });
  for (ChannelEvidence& sign : match_evidence(fabric, reading.found, reading.match))
    sweep.note(std::move(sign));
  note_out_of_view(sweep, fabric, reading.match);
  note_unreachable(sweep, fabric, reading, nics_with_agent(place.site));
  const std::size_t dropped = place.dropped ? place.dropped() : 0;
  ProgressLine progress(read_progress_style(values).value_or(ProgressStyle::none));
  const Interrupt interrupt;
  limit_computing(sweep, place.timing.limit, interrupt.token());
  const auto done = run_with_agents(
      place.site, place.bus, fabric, sweep, secrets, [&](const session::Progress& p) { progress.show(p); },
      interrupt.token(), place.timing);
  progress.clear();
  if (const auto now = place.dropped ? place.dropped() : 0; now > dropped) {
    print_stderr("weft: ibsim, the fabric of this lab, dropped {} packets because this machine is busy\n",
                 now - dropped);
    sweep.excuse(now - dropped);
  }
  if (interrupt.happened()) return answer_interrupted(values, fabric, sweep, progress, interrupt.token());
  if (!done) return pass_on(done);
  WEFT_TRY(const auto after, counters::read_counters(mads, reading.found));
  note_counters(sweep, reading, after);
  WEFT_TRY(const auto tables, read_tables(mads, reading.found, reading.routes));
  if (const auto changed = changed_routes(reading, tables.tables, pairs); changed > 0)
    print_stderr(
        "weft: the subnet manager changed {} routes during the sweep: what was lost may be on others; "
        "sweep again\n",
        changed);
  return answer(values, fabric, sweep, progress, interrupt.token());
}

/// What the reading says before any probe; `options`: of the commands that tell more.
void print_notes(const InfinibandReading& reading, const std::string& options) {
  for (const auto& note : routing_notes(reading, "weft topology routes" + options))
    print_stderr("weft: {}\n", note);
  for (const auto& note : match_notes(reading.match, "weft topology check FABRIC.yaml" + options))
    print_stderr("weft: {}\n", note);
}

Result<int> sweep_lab(const po::variables_map& values, session::SweepOptions options, const lab::IbLab& lab) {
  options.mads_alone = true;
  options.round_trips_count = false;  // ibsim has no delays
  WEFT_TRY(const auto tolerance, read_tolerance(values, lab.settings.tolerate));
  options.tolerate = tolerance;
  WEFT_TRY(const auto limit, read_time_limit(values));
  WEFT_TRY(const auto mads, open_lab_mads(lab));
  WEFT_TRY(const auto reading, read_infiniband(*mads, lab.fabric));
  note_missing_load(values);
  print_notes(reading, " --lab=" + lab.name);
  if (const auto ran = ib_lab_engine(lab); ran && *ran != lab.settings.routing)
    print_stderr("weft: OpenSM was asked for {} and fell back to {}\n", lab.settings.routing, *ran);
  const auto gids = gids_of(reading, lab.fabric);
  WEFT_TRY(auto site, ib_lab_site(lab, lab.agents(), gids));
  return sweep_subnet(values, options, *mads, reading,
                      {.fabric = lab.fabric,
                       .gids = gids,
                       .site = std::move(site),
                       .bus = run::ListenAddress{IpAddress(kLoopback)},
                       .timing = {.limit = limit},
                       .sees_a_part = true,
                       .asks_ports = true,
                       .dropped = [&lab] { return ib_lab_drops(lab); }});
}

/// By management datagrams where nothing else is said: they need no more than the subnet itself.
Result<run::EngineKind> choose_engine(std::optional<run::EngineKind> asked) {
  const run::EngineKind engine = asked.value_or(run::EngineKind::umad);
  if (engine == run::EngineKind::umad || engine == run::EngineKind::verbs) return engine;
  return fail(ErrorKind::usage, "--engine {}: an InfiniBand fabric is probed by umad or verbs",
              to_string(engine));
}

Result<int> sweep_fabric(const po::variables_map& values, session::SweepOptions options,
                         files::FabricFile file) {
  WEFT_TRY(const auto asked, read_engine(values));
  WEFT_TRY(const auto engine, choose_engine(asked));
  WEFT_TRY_VOID(read_flow_options(values, engine, options));
  options.mads_alone = engine == run::EngineKind::umad;
  WEFT_TRY(const auto tolerance, read_tolerance(values, file.lab.tolerate));
  options.tolerate = tolerance;
  if (options.mads_alone) note_missing_load(values);
  WEFT_TRY(const auto limit, read_time_limit(values));
  WEFT_TRY(const auto launch, read_agents_of(values, file.fabric));
  WEFT_TRY(const auto mads, open_subnet(values));
  WEFT_TRY(const auto reading, read_infiniband(*mads, file.fabric));
  print_notes(reading, "");
  file.addresses = gids_of(reading, file.fabric);
  WEFT_TRY(const auto hosts, chosen_hosts(values, file));
  if (hosts.size() < 2)
    return fail(
        ErrorKind::usage,
        "a sweep needs two hosts at least that are in the file and in the subnet: weft topology check "
        "tells what differs");
  WEFT_TRY(auto cluster, cluster_of(launch, file, hosts));
  for (run::AgentHost& host : cluster.site.hosts)
    for (run::AgentNic& nic : host.nics) nic.lids = lids_of(reading, nic.nic);
  cluster.timing.limit = limit;
  cluster.site.agent_options.engine = engine;
  WEFT_TRY_VOID(read_agent_options(values, cluster.site.agent_options));
  return sweep_subnet(values, options, *mads, reading,
                      {.fabric = file.fabric,
                       .gids = file.addresses,
                       .site = std::move(cluster.site),
                       .bus = std::move(cluster.bus),
                       .timing = cluster.timing,
                       .sees_a_part = values.count("hosts") != 0});
}

}  // namespace

int sweep_infiniband_lab(const po::variables_map& values, const session::SweepOptions& options,
                         const std::string& name, const Arguments& words) {
  const auto lab = lab::ib_lab_open(name, ib_lab_root());
  if (!lab) return report(lab.error());
  if (const auto entered = enter_infiniband_lab(*lab, words); !entered) return report(entered.error());
  const auto claim = lab::claim_lab(name, ib_lab_root());
  if (!claim) return report(claim.error());
  const auto status = sweep_lab(values, options, *lab);
  return status ? *status : report(status.error());
}

int sweep_infiniband_fabric(const po::variables_map& values, session::SweepOptions options,
                            const files::FabricFile& file) {
  const auto status = sweep_fabric(values, options, file);
  return status ? *status : report(status.error());
}

}  // namespace weft::cli
