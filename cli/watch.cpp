#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "cli/agent_arguments.hpp"
#include "cli/cluster_arguments.hpp"
#include "cli/commands.hpp"
#include "cli/exit_status.hpp"
#include "cli/infiniband_lab.hpp"
#include "cli/infiniband_source.hpp"
#include "cli/interrupt.hpp"
#include "cli/lab_place.hpp"
#include "cli/options.hpp"
#include "cli/service.hpp"
#include "cli/sweep_arguments.hpp"
#include "cli/watch_backup.hpp"
#include "cli/watch_infiniband.hpp"
#include "cli/watch_listener.hpp"
#include "cli/watch_page.hpp"
#include "collectors/bus/bus_file.hpp"
#include "probes/run/watch_run.hpp"
#include "probes/run/watch_server.hpp"
#include "probes/session/watch_subjects.hpp"
#include "topology/lab/ibsim/ib_lab.hpp"
#include "topology/lab/netns/lab_control.hpp"
#include "topology/model/fabric.hpp"
#include "topology/os/clocks.hpp"

namespace weft::cli {
namespace {

constexpr Nanoseconds kMinHold = std::chrono::seconds(1);
constexpr double kUsualRate = 500;   // as the plan's limits have it
constexpr double kMaxRate = 20'000;  // of a host: more would be load

constexpr const char* kExamples =
    "  weft watch --lab --for 10s               # the lab named 'default'; without --for until Ctrl-C\n"
    "  weft watch --lab --for 10s -o json       # events as JSON lines\n"
    "  weft watch --fabric cluster.yaml         # agents by ssh, a server of its own\n"
    "  weft watch --fabric cluster.yaml --credential bus/watchers/watcher.json\n";

Result<run::WatchOptions> read_watch_options(const po::variables_map& values, const Tolerance& tolerance,
                                             os::ServiceNotifier& service) {
  run::WatchOptions options;
  options.went_round = [&service] { service.went_round(0); };
  WEFT_TRY(const auto close_after, read_option(values, "close-after", parse_duration));
  if (close_after && *close_after < kMinHold)
    return fail(ErrorKind::usage,
                "--close-after {}: at least 1s, for one second of clean probes proves nothing",
                text_option(values, "close-after").value_or(""));
  if (close_after) options.watcher.book.hold = *close_after;
  options.watcher.tolerance = tolerance;
  options.limits.packets_per_second = values["rate"].as<double>();
  return options;
}

/// A stop when Ctrl-C is pressed or --for is over.
class Until {
 public:
  Until(std::stop_token interrupt, std::optional<Nanoseconds> limit)
      : forward_(interrupt, [this] { source_.request_stop(); }), timer_([this, limit](std::stop_token stop) {
          if (!limit) return;
          std::mutex mutex;
          std::unique_lock lock(mutex);
          std::condition_variable_any over;
          if (!over.wait_for(lock, stop, *limit, [] { return false; }) && !stop.stop_requested())
            source_.request_stop();
        }) {}
  std::stop_token token() const { return source_.get_token(); }

 private:
  std::stop_source source_;
  std::stop_callback<std::function<void()>> forward_;
  std::jthread timer_;
};

std::vector<std::string> names_of(const Fabric& fabric, const run::AgentSite& site) {
  std::vector<std::string> names;
  for (const run::AgentHost& host : site.hosts) names.push_back(agent_name(fabric, host));
  return names;
}

/// With agents that this process starts, and a server of its own between.
Result<void> watch_with_agents(const Fabric& fabric, const AddressBook& addresses, run::AgentSite site,
                               const run::ListenAddress& listen, const run::WatchOptions& options,
                               run::WatchListener& listener,
                               const std::optional<std::filesystem::path>& state,
                               const std::stop_token& stop) {
  run::JetStreamSpec streams;
  if (state) streams.store = *state / "streams";
  WEFT_TRY(auto server, run::start_watch_server(listen, fabric.name(), names_of(fabric, site), streams));
  run::KeptServer kept(server);
  site.agent_options.standing_for = fabric.name();
  WEFT_TRY(auto agents, run::Agents::start(
                            fabric, site, [&](const std::string& host) { return server.address_for(host); },
                            session::standing_run(fabric.name()), stop));
  const run::WatchPlace place{fabric,
                              addresses,
                              expected_hosts(site),
                              nics_of(site),
                              server.address_for(session::kWatcher),
                              server.address_for(session::kCoordinator)};
  const auto tend = [&]() -> Result<std::vector<session::GoneAgent>> {
    WEFT_TRY(const auto news, kept.tend(os::steady_now()));
    if (news) listener.on_note(*news);
    return agents.tend([](const auto&) { return false; });
  };
  return run_watch(place, options, listener, tend, stop);
}

int ended(const Result<void>& done, WatchOutputs& outputs) {
  const auto written = outputs.finish();
  if (!done) return report(done.error());
  return written ? kExitHealthy : report(written.error());
}

/// A process in an ordinary user's lab cannot ask in another network.
CounterSources counters_of(const lab::Lab& lab) {
  const CounterSources& kept = lab.settings().counters;
  if (lab.owner() != lab::LabOwner::user || kept == CounterSources()) return kept;
  print_stderr(
      "weft: counters: not read, as an ordinary user's watch cannot leave the lab's network; weft sweep "
      "reads "
      "them\n");
  return {};
}

/// As of now; what is wrong with the routing is said.
Result<InfinibandReading> first_reading(mad::Mads& mads, const Fabric& fabric, const std::string& options) {
  WEFT_TRY(auto reading, read_infiniband_routes(mads, fabric));
  for (const auto& note : routing_notes(reading, "weft topology routes" + options))
    print_stderr("weft: {}\n", note);
  return reading;
}

/// Alone in it: ibsim hands what comes to an adapter to one process there.
Result<int> watch_infiniband_lab(const po::variables_map& values, const std::optional<Nanoseconds>& limit,
                                 const Arguments& words, os::ServiceNotifier& service) {
  const auto name = values["lab"].as<std::string>();
  WEFT_TRY(const auto lab, lab::ib_lab_open(name, ib_lab_root()));
  WEFT_TRY_VOID(enter_infiniband_lab(lab, words));
  const HomeNetwork home;
  WEFT_TRY(const auto claim, lab::claim_lab(name, ib_lab_root()));
  WEFT_TRY(const auto tolerance, read_tolerance(values, lab.settings.tolerate));
  WEFT_TRY(auto options, read_watch_options(values, tolerance, service));
  if (values["rate"].defaulted()) options.limits.packets_per_second = kIbsimProbesPerSecond;
  options.limits.burst = kIbsimBurst;
  WEFT_TRY(auto opened, open_lab_mads(lab));
  const std::shared_ptr<mad::Mads> mads(std::move(opened));
  WEFT_TRY(const auto reading, first_reading(*mads, lab.fabric, " --lab=" + name));
  const auto gids = gids_of(reading, lab.fabric);
  WEFT_TRY(auto site, ib_lab_site(lab, one_nic_a_host(lab.fabric, lab.agents(), lab::kMaxIbsimAgents), gids));
  for (run::AgentHost& host : site.hosts) host.agent.clear();  // one a host, by its name
  options.read_plan = plans_of_subnet(mads, lab.fabric, gids, options.limits);
  const Interrupt interrupt;
  const Until until(interrupt.token(), limit);
  const std::stop_callback stopping(until.token(), [&] { service.stopping(); });
  WEFT_TRY(const auto outputs, make_watch_outputs(values, lab.fabric, {}, home, service));
  WEFT_TRY(const auto state, state_directory(values));
  DropNotes drops([&lab] { return ib_lab_drops(lab); });
  options.went_round = [&] {
    service.went_round(0);
    if (const auto news = drops.news(os::steady_now())) outputs->on_note(*news);
  };
  constexpr IpAddress::V4 kLoopback{127, 0, 0, 1};
  return ended(watch_with_agents(lab.fabric, gids, std::move(site), run::ListenAddress{IpAddress(kLoopback)},
                                 options, *outputs, state, until.token()),
               *outputs);
}

int watch_lab(const po::variables_map& values, const std::optional<Nanoseconds>& limit,
              os::ServiceNotifier& service) {
  const auto agents = read_standing_options(values);
  if (!agents) return report(agents.error());
  const auto name = values["lab"].as<std::string>();
  const HomeNetwork home;
  const auto claim = lab::claim_lab(name, lab_state_root(), lab::LabUse::watch);
  if (!claim) return report(claim.error());
  const auto lab = run::open_lab_for_run(name, lab_state_root());
  if (!lab) return report(lab.error());
  const auto engine =
      choose_lab_engine(values.count("engine") ? std::optional(agents->engine) : std::nullopt, *lab);
  if (!engine) return report(engine.error());
  const auto tolerance = read_tolerance(values, lab->settings().tolerate);
  if (!tolerance) return report(tolerance.error());
  auto site = run::lab_site(*lab, {});
  if (!site) return report(site.error());
  site->agent_options.engine = *engine;
  site->agent_options.probes = agents->probes;
  auto options = read_watch_options(values, *tolerance, service);
  if (!options) return report(options.error());
  options->answers_per_second = kLabAnswersPerSecond;
  if (!guests_of(*lab).empty() && values["rate"].defaulted())  // each answers as many as it sends
    options->limits.packets_per_second = kGuestProbesPerSecond / 2;
  const Interrupt interrupt;
  const Until until(interrupt.token(), limit);
  const std::stop_callback stopping(until.token(), [&] { service.stopping(); });
  const Fabric fabric = lab->fabric_as_built();
  const auto outputs = make_watch_outputs(values, fabric, counters_of(*lab), home, service);
  if (!outputs) return report(outputs.error());
  const auto state = state_directory(values);
  if (!state) return report(state.error());
  return ended(watch_with_agents(fabric, lab->addresses().book, std::move(*site),
                                 run::ListenAddress{lab->coordinator_address()}, *options, **outputs, *state,
                                 until.token()),
               **outputs);
}

/// Agents that stand already, at a server that runs.
Result<void> watch_standing(const files::FabricFile& file, const run::Cluster& cluster,
                            const bus::NatsAddress& bus, const bus::NatsAddress& runs,
                            const run::WatchOptions& options, run::WatchListener& listener,
                            const std::stop_token& stop) {
  const run::WatchPlace place{
      file.fabric, file.addresses, expected_hosts(cluster.site), nics_of(cluster.site), bus, runs};
  return run_watch(place, options, listener, {}, stop);
}

/// Of --credential; absent: not given.
Result<std::optional<bus::BusFile>> read_credential_file(const po::variables_map& values,
                                                         const Fabric& fabric) {
  const auto path = text_option(values, "credential");
  if (!path) return std::optional<bus::BusFile>();
  for (const char* other : {"server", "listen"})
    if (values.count(other))
      return fail(ErrorKind::usage, "--{}: where the bus is stands in the file of --credential", other);
  WEFT_TRY(auto file, bus::read_bus_file(*path));
  if (file.steers)
    return fail(ErrorKind::usage, "--credential {}: it is an operator's; a watcher's is watchers/NAME.json",
                *path);
  if (file.fabric != fabric.name())
    return fail(ErrorKind::usage, "--credential {}: it is of fabric {}, and this is {}", *path, file.fabric,
                fabric.name());
  return std::optional(std::move(file));
}

/// The management datagrams of an InfiniBand fabric, whose hosts have then the addresses that the subnet
/// says; null: it is a RoCE fabric.
Result<std::shared_ptr<mad::Mads>> subnet_of(const po::variables_map& values, files::FabricFile& file) {
  if (file.fabric.kind() != FabricKind::infiniband) {
    WEFT_TRY_VOID(refuse_subnet_options(values));
    return std::shared_ptr<mad::Mads>();
  }
  WEFT_TRY(auto opened, open_subnet(values));
  const std::shared_ptr<mad::Mads> mads(std::move(opened));
  WEFT_TRY(const auto reading, first_reading(*mads, file.fabric, ""));
  for (const auto& note : match_notes(reading.match, "weft topology check FABRIC.yaml"))
    print_stderr("weft: {}\n", note);
  file.addresses = gids_of(reading, file.fabric);
  return mads;
}

int watch_cluster(const po::variables_map& values, const std::optional<Nanoseconds>& limit,
                  os::ServiceNotifier& service) {
  const auto agents = read_standing_options(values);
  if (!agents) return report(agents.error());
  auto file = read_live_fabric(values["fabric"].as<std::string>());
  if (!file) return report(file.error());
  const auto mads = subnet_of(values, *file);
  if (!mads) return report(mads.error());
  const auto tolerance = read_tolerance(values, file->lab.tolerate);
  if (!tolerance) return report(tolerance.error());
  const auto hosts = chosen_hosts(values, *file);
  if (!hosts) return report(hosts.error());
  if (*mads && hosts->size() < 2)
    return report({ErrorKind::usage,
                   "a watch needs two hosts at least that are in the file and in the subnet: weft topology "
                   "check tells what differs"});
  auto launch = read_launch_options(values);
  if (!launch) return report(launch.error());
  const auto credential = read_credential_file(values, file->fabric);
  if (!credential) return report(credential.error());
  if (*credential) launch->bus = (*credential)->address();
  auto cluster = cluster_of(*launch, *file, *hosts);
  if (!cluster) return report(cluster.error());
  auto options = read_watch_options(values, *tolerance, service);
  if (!options) return report(options.error());
  if (*mads || *credential)
    if (const auto none = refuse_standing_options(
            values, *mads ? "an InfiniBand fabric is probed by umad" : "the agents stand already");
        !none)
      return report(none.error());
  cluster->site.agent_options.engine = agents->engine;
  cluster->site.agent_options.probes = agents->probes;
  if (*mads) {
    cluster->site.agent_options.engine = run::EngineKind::umad;
    options->read_plan = plans_of_subnet(*mads, file->fabric, file->addresses, options->limits);
    options->gather = cluster->timing.gather;
  }
  if (*credential) options->name = (*credential)->name;
  if (*credential) options->streams = (*credential)->limits.value_or(options->streams);
  const Interrupt interrupt;
  const Until until(interrupt.token(), limit);
  const std::stop_callback stopping(until.token(), [&] { service.stopping(); });
  const HomeNetwork home;
  const auto outputs = make_watch_outputs(values, file->fabric, file->counters, home, service);
  if (!outputs) return report(outputs.error());
  const auto state = state_directory(values);
  if (!state) return report(state.error());
  if (const auto* running = std::get_if<bus::NatsAddress>(&cluster->bus))
    return ended(
        watch_standing(*file, *cluster, *running, *credential ? (*credential)->address_for_runs() : *running,
                       *options, **outputs, until.token()),
        **outputs);
  return ended(watch_with_agents(file->fabric, file->addresses, cluster->site,
                                 std::get<run::ListenAddress>(cluster->bus), *options, **outputs, *state,
                                 until.token()),
               **outputs);
}

Result<void> check_place(const po::variables_map& values) {
  const bool lab = values.count("lab") != 0;
  const bool fabric = values.count("fabric") != 0;
  if (lab && fabric) return fail(ErrorKind::usage, "--lab stands alone: the lab knows its fabric");
  for (const char* live : {"hosts", "credential", "server"})
    if (lab && values.count(live))
      return fail(ErrorKind::usage, "--{} is of a live fabric; all hosts of the lab are watched from here",
                  live);
  if (!lab && !fabric)
    return fail(ErrorKind::usage,
                "nothing to watch: give --fabric FABRIC.yaml or --lab=NAME\ntry: weft watch --help");
  const double rate = values["rate"].as<double>();
  if (!(rate >= 1 && rate <= kMaxRate))
    return fail(ErrorKind::usage, "--rate {}: expected 1 to {} probes per second", rate, kMaxRate);
  return {};
}

}  // namespace

OptionParser watch_options() {
  OptionParser parser(
      "weft watch (--fabric FABRIC.yaml [--credential FILE] | --lab[=NAME]) [options]\n"
      "       weft watch backup FILE --state DIR",
      "Probes every link of a fabric continuously, and reports incidents as they begin and end.", kExamples);
  parser.options().add_options()(
      "fabric", po::value<std::string>()->value_name("FILE"),
      "the live fabric: its file (RoCE: with addresses); `weft watch FILE` does as well")(
      "hosts", po::value<std::string>()->value_name("LIST"),
      "probe from these hosts, as gpu[001-064],login2 or @FILE (default: all)")(
      "lab", po::value<std::string>()->implicit_value(kDefaultLabName)->value_name("NAME"),
      "watch this lab (see weft lab)");
  parser.options(Group::how_much)
      .add_options()(
          "rate", po::value<double>()->value_name("N")->default_value(kUsualRate),
          "probes a host sends per second; unless it is said here an InfiniBand lab sends 100, a lab of "
          "guests 125")(
          "close-after", po::value<std::string>()->value_name("TIME"),
          "an incident is closed when clean probes have crossed its place for so long (default: 1m)")(
          "for", po::value<std::string>()->value_name("TIME"), "end after this time (default: when told to)");
  add_tolerate_option(parser.options(Group::how_much));
  add_launch_options(parser.options(Group::cluster));
  add_subnet_options(parser.options(Group::infiniband));
  parser.options(Group::cluster)
      .add_options()("credential", po::value<std::string>()->value_name("FILE"),
                     "agents stand already, at the bus of this file of weft bus init");
  add_standing_options(parser.options(Group::cluster));
  add_watch_output_options(parser.options(Group::output));
  parser.positional("fabric", 1);
  parser.either({"lab"}, {"fabric", "hosts", "credential", "server"});
  parser.either({"server"}, {"listen"});
  parser.either({"credential"}, {"server", "listen"});
  return parser;
}

int watch_command(const Arguments& arguments) {
  if (!arguments.empty() && arguments[0] == "backup") return run_word(watch_words(), arguments);
  const auto parser = watch_options();
  const auto values = parser.parse(arguments);
  if (!values) return report(values.error());
  if (parser.help_was_asked(*values)) return kExitHealthy;
  if (const auto place = check_place(*values); !place) return report(place.error());
  const auto limit = read_option(*values, "for", parse_duration);
  if (!limit) return report(limit.error());
  if (*limit && **limit <= Nanoseconds(0))
    return report({ErrorKind::usage, "--for: expected a time above zero, as in 8h"});
  auto service = service_notifier(1);
  if (!values->count("lab")) return watch_cluster(*values, *limit, service);
  if (const auto none = refuse_subnet_options(*values); !none) return report(none.error());
  if (!lab::ib_lab_exists((*values)["lab"].as<std::string>(), ib_lab_root()))
    return watch_lab(*values, *limit, service);
  if (const auto none = refuse_standing_options(*values, "an InfiniBand fabric is probed by umad"); !none)
    return report(none.error());
  Arguments words{"watch"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const auto status = watch_infiniband_lab(*values, *limit, words, service);
  return status ? *status : report(status.error());
}

}  // namespace weft::cli
