#include <fmt/format.h>

#include <cstdlib>
#include <functional>
#include <stop_token>
#include <string>

#include "cli/agent.hpp"
#include "cli/agent_arguments.hpp"
#include "cli/cluster_arguments.hpp"
#include "cli/commands.hpp"
#include "cli/counter_source.hpp"
#include "cli/exit_status.hpp"
#include "cli/flow_arguments.hpp"
#include "cli/hashed_note.hpp"
#include "cli/home_network.hpp"
#include "cli/infiniband_source.hpp"
#include "cli/interrupt.hpp"
#include "cli/job_arguments.hpp"
#include "cli/lab_place.hpp"
#include "cli/options.hpp"
#include "cli/stamp.hpp"
#include "cli/sweep_answer.hpp"
#include "cli/sweep_arguments.hpp"
#include "cli/sweep_infiniband.hpp"
#include "cli/time_limit.hpp"
#include "collectors/counters/pause_origin.hpp"
#include "collectors/report/sending.hpp"
#include "probes/plan/scope.hpp"
#include "probes/run/agent_run.hpp"
#include "probes/run/cluster.hpp"
#include "probes/run/engines.hpp"
#include "probes/session/dry_run.hpp"
#include "probes/session/sweep.hpp"
#include "topology/lab/ibsim/ib_lab.hpp"
#include "topology/lab/netns/lab_control.hpp"
#include "topology/model/fabric.hpp"
#include "topology/os/clocks.hpp"
#include "topology/os/network_namespace.hpp"

namespace weft::cli {
namespace {

constexpr const char* kExamples =
    "  weft sweep --fabric cluster.yaml         # every host, agents by ssh\n"
    "  weft sweep --fabric cluster.yaml --hosts 'gpu[001-064],gpu100' --load light\n"
    "  weft sweep --fabric cluster.yaml --job   # in an allocation of Slurm: its hosts, by srun\n"
    "  weft sweep --fabric cluster.yaml --credential bus/operators/operator.json\n"
    "  weft sweep --fabric cluster.yaml --dry-run\n"
    "  weft sweep --lab                         # the lab named 'default'\n"
    "  weft sweep --lab=mine --load none -o json\n"
    "  weft sweep --lab --budget 60s --save diagnosis.json\n";

constexpr std::size_t kColumns = 80;  // of --dry-run, which says what would be sent, before anything is

std::string engine_words(run::EngineKind engine) {
  switch (engine) {
    case run::EngineKind::automatic:
      return "auto: queue pairs where the NICs have RDMA devices, else raw packets; the agents find out";
    case run::EngineKind::verbs:
      return "verbs: RDMA queue pairs, and raw packets to trace";
    case run::EngineKind::dpdk:
      return "dpdk: packets by DPDK, UDP port 4791";
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

void add_dry_run_option(po::options_description& options) {
  options.add_options()(
      "dry-run", "send nothing and start no agent: say what would be sent, by whom, how fast and how long");
}

/// Who would send, and how.
struct DryRunPlace {
  const Fabric& fabric;
  const AddressBook& addresses;
  const run::AgentSite& site;
  std::string agents;  // how they come to run there, in words
  bool stand = false;  // they were started before
};

bool dry_run_was_asked(const po::variables_map& values) { return values.count("dry-run") != 0; }

/// Prints what `sweep`, which has not begun, would send from the hosts of the place. The exit status.
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
                            .engine = place.stand ? "what the agents were started with"
                                                  : engine_words(place.site.agent_options.engine),
                            .marking = place.stand ? "what the agents were started with"
                                                   : marking_words(place.site.agent_options.packets)};
  const auto json = wants_json(values);
  if (!json) return report(json.error());
  fmt::print("{}", *json ? sending_json(place.fabric, told, stamp_now())
                         : sending_table(place.fabric, told, kColumns));
  return kExitHealthy;
}

/// Counters of the ports beside the probes. What cannot be read is said, and ends no sweep.
class SweepCounters {
 public:
  static Result<SweepCounters> open(const po::variables_map& values, const files::CounterSources& of_file) {
    SweepCounters counters;
    WEFT_TRY(counters.source_, CounterSource::open(values, of_file));
    return counters;
  }
  /// Where the sources are asked from now on, instead of where the sweep runs.
  void ask_at(const HomeNetwork& home) { home_ = &home; }
  /// Instead of after the sweep.
  void read_now(const Fabric& fabric) {
    is_read_ = true;
    if (source_.is_there()) say(source_.read(fabric, table_));
  }
  void read_before(const Fabric& fabric) {
    if (!is_read_) at_home([&] { say(source_.read_before(fabric, table_)); });
  }
  /// What was read, for what else is made of it.
  counters::CounterTable& table() { return table_; }
  void note(const Fabric& fabric, session::Sweep& sweep) {
    if (!source_.is_there()) return;
    if (!is_read_) at_home([&] { say(source_.read(fabric, table_)); });
    for (ChannelCount& count : counted(fabric, table_)) sweep.note(std::move(count));
    if (is_read_) return;  // before the sweep: pauses of that time explain nothing of it
    const auto pauses = counters::port_pauses(fabric, table_, os::wall_now() - began_ + kScrape, began_);
    for (ChannelEvidence& sign : counters::paused_channels(fabric, pauses)) sweep.note(std::move(sign));
  }

 private:
  static void say(const Result<void>& done) {
    if (!done) print_stderr("weft: counters: {}\n", done.error().message);
  }
  void at_home(const std::function<void()>& work) {
    if (home_ == nullptr) return work();
    const auto visit = os::NamespaceVisit::enter(home_->file());
    if (!visit) return say(pass_on(visit));
    work();
  }
  static constexpr Nanoseconds kScrape = std::chrono::minutes(1);  // usual between two readings of a server
  Nanoseconds began_ = os::wall_now();
  CounterSource source_;
  counters::CounterTable table_;
  const HomeNetwork* home_ = nullptr;
  bool is_read_ = false;
};

/// Before the lab is opened: an ordinary user's process is in the network of the lab from then on, and what
/// is to be asked in that of the machine is asked here.
Result<SweepCounters> counters_of_lab(const po::variables_map& values) {
  WEFT_TRY(const auto status, lab::lab_status(values["lab"].as<std::string>(), lab_state_root()));
  WEFT_TRY(auto counters, SweepCounters::open(values, status.lab.settings().counters));
  if (status.lab.owner() == lab::LabOwner::user && !values.count("dry-run"))
    counters.read_now(status.lab.fabric_as_built());
  return counters;
}

int sweep_lab(const po::variables_map& values, session::SweepOptions options) {
  const auto claim = lab::claim_lab(values["lab"].as<std::string>(), lab_state_root());
  if (!claim) return report(claim.error());
  auto counters = counters_of_lab(values);
  if (!counters) return report(counters.error());
  const HomeNetwork home;
  counters->ask_at(home);
  const auto lab = run::open_lab_for_run(values["lab"].as<std::string>(), lab_state_root());
  if (!lab) return report(lab.error());
  const auto asked = read_engine(values);
  if (!asked) return report(asked.error());
  auto engine = choose_lab_engine(*asked, *lab);
  if (!engine) return report(engine.error());
  // With a device of DPDK named, agents say which engine each NIC got, and why.
  if (!*asked && *engine == run::EngineKind::raw && values.count("dpdk-args"))
    engine = run::EngineKind::automatic;
  const bool queue_pairs = *engine == run::EngineKind::verbs;
  if (const auto read = read_flow_options(values, *engine, options); !read) return report(read.error());
  if (queue_pairs && !values.count("probe-rate")) options.probes_per_second = kGuestProbesPerSecond;
  const Tolerance usual = queue_pairs ? Tolerance{.delay = kGuestDelay} : Tolerance();
  const auto tolerance = read_tolerance(values, lab->settings().tolerate, usual);
  if (!tolerance) return report(tolerance.error());
  options.tolerate = *tolerance;
  auto site = run::lab_site(*lab, guests_of(*lab));
  if (!site) return report(site.error());
  site->agent_options.engine = *engine;
  options.nic_counters = queue_pairs;
  if (const auto read = read_agent_options(values, site->agent_options); !read) return report(read.error());
  const auto limit = read_time_limit(values);
  if (!limit) return report(limit.error());
  const Interrupt interrupt;
  const Fabric fabric = lab->fabric_as_built();
  const auto secrets = run::new_run_secrets();
  session::Sweep sweep(fabric, lab->addresses().book, options, secrets.run);
  sweep.expect_of_hosts({.mtu = lab->settings().mtu});
  if (queue_pairs)
    for (const NodeId host : fabric.hosts())
      if (!lab->is_guest(host))
        for (const lab::LabNic& nic : lab->nics_of(host)) sweep.leave_out(nic.port);
  if (dry_run_was_asked(values))
    return dry_run(values, {fabric, lab->addresses().book, *site, "in the namespaces of the lab's hosts"},
                   sweep, options.seed, interrupt.token());
  limit_computing(sweep, *limit, interrupt.token());
  counters->read_before(fabric);
  ProgressLine progress(read_progress_style(values).value_or(ProgressStyle::none));
  const auto done = run_with_agents(*site, run::ListenAddress{lab->coordinator_address()}, fabric, sweep,
                                    secrets, [&](const session::Progress& p) { progress.show(p); },
                                    interrupt.token(), {.limit = *limit});
  progress.clear();
  if (interrupt.happened()) return answer_interrupted(values, fabric, sweep, progress, interrupt.token());
  if (!done) return report(done.error());
  counters->note(fabric, sweep);
  return answer(values, fabric, sweep, progress, interrupt.token(), &counters->table());
}

/// How agents would be started on a cluster, and where they would reach this machine.
std::string agents_in_words(const po::variables_map& values, const run::Cluster& cluster) {
  if (const auto* standing = std::get_if<run::StandingAgents>(&cluster.bus))
    return fmt::format("those that stand on {} hosts, by the server {}", cluster.site.hosts.size(),
                       standing->bus.url);
  const auto back = text_option(values, "server")
                        .value_or(text_option(values, "listen")
                                      .value_or("this machine's address on the way to them, any free port"));
  return fmt::format("{} started on {} hosts by '{}'; they dial back to {}", cluster.site.program,
                     cluster.site.hosts.size(), values["launcher"].as<std::string>(), back);
}

int sweep_cluster(const po::variables_map& values, session::SweepOptions options,
                  const files::FabricFile& file) {
  const auto asked = read_engine(values);
  if (!asked) return report(asked.error());
  const run::EngineKind engine = asked->value_or(run::EngineKind::automatic);
  if (engine == run::EngineKind::umad)
    return report({ErrorKind::usage, "--engine umad: a RoCE fabric is probed by raw packets or by verbs"});
  if (const auto read = read_flow_options(values, engine, options); !read) return report(read.error());
  options.nic_counters = true;
  note_hashed(file.lab.hashed, text_option(values, "fabric").value_or("the fabric file"));
  const auto tolerance = read_tolerance(values, file.lab.tolerate);
  if (!tolerance) return report(tolerance.error());
  options.tolerate = *tolerance;
  const auto hosts = chosen_hosts(values, file);
  if (!hosts) return report(hosts.error());
  if (hosts->size() < 2)
    return report({ErrorKind::usage, "a sweep needs two hosts at least: probes go from one to another"});
  const auto limit = read_time_limit(values);
  if (!limit) return report(limit.error());
  auto launch = read_agents_of(values, file.fabric);
  if (!launch) return report(launch.error());
  // Nobody is to be reached: no way to the hosts is looked for.
  if (dry_run_was_asked(values) && !launch->bus) launch->bus = run::ListenAddress{};
  auto cluster = cluster_of(*launch, file, *hosts);
  if (!cluster) return report(cluster.error());
  cluster->timing.limit = *limit;
  cluster->site.agent_options.engine = engine;
  if (const auto read = read_agent_options(values, cluster->site.agent_options); !read)
    return report(read.error());
  const Interrupt interrupt;
  const auto secrets = run::new_run_secrets();
  session::Sweep sweep(file.fabric, file.addresses, options, secrets.run);
  for (const PortId nic : nics_without_agent(cluster->site, file.fabric)) sweep.leave_out(nic);
  if (values.count("hosts"))
    sweep.limit_to(plan::channels_in_scope(file.fabric, nics_with_agent(cluster->site)));
  if (dry_run_was_asked(values))
    return dry_run(values,
                   {file.fabric, file.addresses, cluster->site, agents_in_words(values, *cluster),
                    std::holds_alternative<run::StandingAgents>(cluster->bus)},
                   sweep, options.seed, interrupt.token());
  limit_computing(sweep, *limit, interrupt.token());
  auto counters = SweepCounters::open(values, file.counters);
  if (!counters) return report(counters.error());
  counters->read_before(file.fabric);
  ProgressLine progress(read_progress_style(values).value_or(ProgressStyle::none));
  const auto done = run_with_agents(
      cluster->site, cluster->bus, file.fabric, sweep, secrets,
      [&](const session::Progress& p) { progress.show(p); }, interrupt.token(), cluster->timing);
  progress.clear();
  if (interrupt.happened())
    return answer_interrupted(values, file.fabric, sweep, progress, interrupt.token());
  if (!done) return report(done.error());
  report_strangers(file.fabric, sweep.learner());
  counters->note(file.fabric, sweep);
  return answer(values, file.fabric, sweep, progress, interrupt.token(), &counters->table());
}

/// A lab or a fabric, not both; a list of hosts says nothing of the cables between them.
Result<void> check_place(const po::variables_map& values) {
  WEFT_TRY_VOID(read_engine(values));
  const bool lab = values.count("lab") != 0;
  const bool fabric = values.count("fabric") != 0;
  if (lab && (fabric || values.count("hosts")))
    return fail(ErrorKind::usage, "--lab stands alone: the lab knows its fabric and its hosts");
  if (values.count("hosts") && !fabric)
    return fail(ErrorKind::usage,
                "--hosts needs --fabric FABRIC.yaml: which cables join these hosts, and their addresses");
  if (lab && values.count("credential"))
    return fail(ErrorKind::usage, "--credential is of a live fabric: the agents of a lab are started");
  if (!lab && !fabric)
    return fail(ErrorKind::usage,
                "nothing to sweep: give --fabric FABRIC.yaml or --lab=NAME\ntry: weft sweep --help");
  return {};
}

int sweep_place(const po::variables_map& values, const session::SweepOptions& options,
                const Arguments& arguments) {
  const auto path = text_option(values, "fabric");
  const auto file = path ? std::optional(read_live_fabric(*path)) : std::nullopt;
  if (file && !*file) return report(file->error());
  const bool infiniband = file ? (*file)->fabric.kind() == FabricKind::infiniband
                               : lab::ib_lab_exists(values["lab"].as<std::string>(), ib_lab_root());
  if (infiniband && dry_run_was_asked(values))
    return report(
        {ErrorKind::not_supported,
         "--dry-run: on InfiniBand the paths stand in the switches' tables, and to read them is to send; "
         "weft simulate shows such a sweep"});
  if (infiniband && (values.count("counters") || values.count("prometheus")))
    return report({ErrorKind::usage,
                   "--counters and --prometheus are for RoCE: on InfiniBand a sweep asks the ports itself"});
  if (file && infiniband) return sweep_infiniband_fabric(values, options, **file);
  if (const auto none = refuse_subnet_options(values); !none) return report(none.error());
  if (file) return sweep_cluster(values, options, **file);
  if (const auto name = values["lab"].as<std::string>(); lab::ib_lab_exists(name, ib_lab_root())) {
    if (const auto engine = values["engine"].as<std::string>(); engine != "auto")
      return report({ErrorKind::usage,
                     fmt::format("--engine {}: an InfiniBand lab moves management datagrams alone", engine)});
    session::SweepOptions of_load = options;
    if (const auto read = read_flow_options(values, run::EngineKind::ibsim, of_load); !read)
      return report(read.error());
    Arguments words{"sweep"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return sweep_infiniband_lab(values, options, name, words);
  }
  return sweep_lab(values, options);
}

}  // namespace

OptionParser sweep_options() {
  OptionParser parser(
      "weft sweep (--fabric FABRIC.yaml [--hosts LIST | --job] | --lab[=NAME]) [options]",
      "Maps every path of a fabric, probes every link in both directions, and names what is not healthy.",
      kExamples);
  parser.options().add_options()(
      "fabric", po::value<std::string>()->value_name("FILE"),
      "the live fabric to sweep: its file (RoCE: with addresses); `weft sweep FILE` does as well")(
      "hosts", po::value<std::string>()->value_name("LIST"),
      "probe from these hosts, as gpu[001-064],login2 or @FILE (default: all)")(
      "lab", po::value<std::string>()->implicit_value(kDefaultLabName)->value_name("NAME"),
      "the lab to sweep (see weft lab)");
  add_job_option(parser.options());
  parser.options(Group::how)
      .add_options()(
          "engine", po::value<std::string>()->value_name("auto|raw|dpdk|verbs|umad")->default_value("auto"),
          "how packets are sent: auto, raw, dpdk (the same packets by DPDK), verbs (RDMA queue pairs) or, on "
          "InfiniBand, umad (management datagrams)");
  add_dry_run_option(parser.options(Group::how));
  parser.positional("fabric", 1);
  add_counter_options(parser.options(Group::how));
  add_sweep_options(parser.options(Group::how_much));
  add_timeout_option(parser.options(Group::how_much));
  add_flow_options(parser.options(Group::rdma));
  add_launch_options(parser.options(Group::cluster));
  add_standing_agents_option(parser);
  add_subnet_options(parser.options(Group::infiniband));
  add_agent_options(parser.options(Group::rdma));
  add_answer_options(parser.options(Group::output));
  parser.either({"lab"}, {"fabric", "hosts", "job", "credential"});
  return parser;
}

int sweep_command(const Arguments& arguments) {
  const auto parser = sweep_options();
  auto values = parser.parse(arguments);
  if (!values) return report(values.error());
  if (parser.help_was_asked(*values)) return kExitHealthy;
  if (const auto job = read_job(*values, [](const char* name) { return std::getenv(name); }); !job)
    return report(job.error());
  if (const auto known = check_answer_options(*values); !known) return report(known.error());
  if (const auto place = check_place(*values); !place) return report(place.error());
  const auto options = read_sweep_options(*values, values->count("fabric") != 0);
  if (!options) return report(options.error());
  if (const auto limit = read_time_limit(*values); !limit) return report(limit.error());
  return sweep_place(*values, *options, arguments);
}

}  // namespace weft::cli
