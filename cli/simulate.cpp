#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "cli/cluster_arguments.hpp"
#include "cli/commands.hpp"
#include "cli/exit_status.hpp"
#include "cli/hashed_note.hpp"
#include "cli/interrupt.hpp"
#include "cli/options.hpp"
#include "cli/simulate_collective.hpp"
#include "cli/simulate_infiniband.hpp"
#include "cli/sweep_answer.hpp"
#include "cli/sweep_arguments.hpp"
#include "cli/time_limit.hpp"
#include "probes/plan/scope.hpp"
#include "probes/run/engines.hpp"
#include "probes/session/coordinator_loop.hpp"
#include "topology/files/fabric_file.hpp"
#include "topology/routing/switch_hash.hpp"

namespace weft::cli {
namespace {

constexpr const char* kExamples =
    "  weft simulate fabric.yaml --fault 'leaf1--spine2:loss=0.5%,from=leaf1'\n"
    "  weft simulate fabric.yaml --fault leaf1--spine2:rate=100G --fault leaf2--spine1:down -o json\n"
    "  weft simulate fabric.yaml --fault 'leaf1--spine2:loss=100%,on=0.5s,off=2s' --stall "
    "host3:at=2s,for=300ms\n"
    "  weft simulate fabric.yaml --seed 7 --load none --background 0.01%\n"
    "  weft simulate fabric.yaml --hosts host1,host7   # what lies between these two\n"
    "  weft simulate fabric.yaml --collective ring --hosts 16 --bytes 256MB\n";

/// What stands behind an option that may be given several times.
template <class T, class Parse>
Result<std::vector<T>> read_all(const po::variables_map& values, const char* option, const Fabric& fabric,
                                Parse parse) {
  std::vector<T> all;
  if (!values.count(option)) return all;
  for (const auto& text : values[option].as<std::vector<std::string>>()) {
    WEFT_TRY(const auto one, parse(fabric, text));
    all.push_back(one);
  }
  return all;
}

/// What --background says; none: no channel loses anything by itself. Error: not above 0 % and below 5 %.
Result<Fraction> read_background(const po::variables_map& values) {
  const auto said = text_option(values, "background");
  if (!said) return Fraction();
  const auto loss = parse_percent(*said);
  if (!loss) return fail(ErrorKind::usage, "--background {}: {}", *said, loss.error().message);
  if (loss->value() <= 0 || loss->value() >= kFailedLoss)
    return fail(ErrorKind::usage,
                "--background {}: the loss of a healthy channel is above 0% and below {:.0f}%", *said,
                kFailedLoss * 100);
  return *loss;
}

/// These hosts with all their NICs: in a simulation nobody is missing.
std::vector<session::ExpectedHost> with_all_nics(const Fabric& fabric, std::span<const NodeId> hosts) {
  std::vector<session::ExpectedHost> all;
  for (const NodeId host : hosts) {
    session::ExpectedHost expected{host, {}};
    for (const PortId port : fabric.ports_of(host))
      if (fabric.port(port).link) expected.nics.push_back({fabric.name_of_nic(port), port});
    if (!expected.nics.empty()) all.push_back(std::move(expected));
  }
  return all;
}

/// The hosts of --hosts, or all; Error: fewer than two.
Result<std::vector<session::ExpectedHost>> hosts_to_sweep(const po::variables_map& values,
                                                          const Fabric& fabric) {
  if (!values.count("hosts")) return with_all_nics(fabric, fabric.hosts());
  WEFT_TRY(const auto chosen, hosts_of_fabric(values, fabric));
  if (chosen.size() < 2)
    return fail(ErrorKind::usage, "a sweep needs two hosts at least: probes go from one to another");
  return with_all_nics(fabric, chosen);
}

/// Where --hosts names some: their NICs, those of the others, and what lies between the first.
struct Choice {
  std::vector<PortId> with;
  std::vector<PortId> without;
  std::vector<bool> scope;  // empty: the whole fabric
};

Choice choice_of(const po::variables_map& values, const Fabric& fabric,
                 const std::vector<session::ExpectedHost>& hosts, const SimulatedTables* subnet) {
  Choice choice;
  if (!values.count("hosts")) return choice;
  for (const session::ExpectedHost& host : hosts)
    for (const session::NicAssignment& nic : host.nics) choice.with.push_back(nic.nic);
  for (const PortId nic : fabric.nics())
    if (std::ranges::find(choice.with, nic) == choice.with.end()) choice.without.push_back(nic);
  choice.scope =
      subnet ? scope_of(fabric, *subnet, choice.with) : plan::channels_in_scope(fabric, choice.with);
  return choice;
}

int simulate_sweep(const po::variables_map& values, const files::FabricFile& file,
                   session::SweepOptions options, const std::vector<FaultSpec>& faults,
                   const std::vector<HostStall>& stalls, Fraction background) {
  const Fabric& fabric = file.fabric;
  const auto tolerance = read_tolerance(values, file.lab.tolerate);
  if (!tolerance) return report(tolerance.error());
  options.tolerate = *tolerance;
  const auto addresses = plan_addresses(fabric, file.lab.family);
  if (!addresses) return report(addresses.error());
  const auto hash = routing::parse_hash(values["hash"].as<std::string>());
  if (!hash) return report({hash.error().kind, "--hash: " + hash.error().message});
  if (hash->queue_pair) note_hashed({PacketField::queue_pair}, "--hash");
  const auto limit = read_time_limit(values);
  if (!limit) return report(limit.error());
  const Interrupt interrupt(Interrupt::Then::exit);  // a diagnosis alone may take seconds
  const auto hosts = hosts_to_sweep(values, fabric);
  if (!hosts) return report(hosts.error());
  std::vector<std::string> names;
  for (const session::ExpectedHost& host : *hosts) names.push_back(fabric.name_of(host.host));
  std::optional<SimulatedTables> subnet;
  if (fabric.kind() == FabricKind::infiniband) {
    options.mads_alone = true;
    auto filled = simulated_tables(fabric, file.lab.lmc, faults);
    if (!filled) return report(filled.error());
    subnet = std::move(*filled);
    if (subnet->idle > 0)
      print_stderr(
          "weft: no route takes {} of the channels between switches: they cannot be probed; with more labels "
          "(lab: lmc) more are used\n",
          subnet->idle);
  }
  const Choice choice = choice_of(values, fabric, *hosts, subnet ? &*subnet : nullptr);
  session::Sweep sweep(fabric, addresses->book, options, RunId(options.seed));
  for (const PortId nic : choice.without) sweep.leave_out(nic);
  sweep.limit_to(choice.scope);
  if (subnet) {
    know_simulated_subnet(sweep, fabric, *subnet, faults, choice.without, choice.scope);
    note_missing_load(values);
  }
  limit_computing(sweep, *limit, interrupt.token());
  session::Coordinator coordinator(fabric, sweep, {RunId(options.seed), {}}, *hosts, {.limit = *limit});
  ProgressLine progress(read_progress_style(values).value_or(ProgressStyle::none));
  const auto open = run::simulated_engines(fabric, addresses->book, faults, options.seed,
                                           subnet ? subnet->tables : nullptr, stalls, background, *hash);
  const auto done = coordinate_in_process(
      coordinator, names, open, [&](const session::Progress& p) { progress.show(p); }, interrupt.token(),
      *limit);
  progress.clear();
  if (interrupt.happened()) return kExitInterrupted;
  if (!done) return report(done.error());
  return answer(values, fabric, sweep, progress, interrupt.token());
}

}  // namespace

OptionParser simulate_options() {
  OptionParser parser(
      "weft simulate FABRIC.yaml [--fault 'LINK:loss=0.5%,from=NODE']... [options]\n"
      "       weft simulate FABRIC.yaml (--collective NAME --hosts N | --flows FILE) [--plot FILE]",
      "Sweeps a simulated fabric with the faults you choose: any size, no privileges. InfiniBand is routed "
      "by "
      "LIDs over min-hop tables. With a collective or flows: how long they take, hashed, sprayed and "
      "balanced.",
      kExamples);
  parser.options().add_options()("fabric", po::value<std::string>()->value_name("FILE"),
                                 "the fabric file; `weft simulate FILE` does as well")(
      "fault", po::value<std::vector<std::string>>()->value_name("FAULT")->composing(),
      "LINK:SETTINGS, of loss=PCT, rate=BW, load=BW, delay=TIME, mtu=BYTES, corruption=PCT, down, from=NODE; "
      "on=TIME,off=TIME: it comes and goes; burst=N: the loss takes N packets of a flow in a row; may be "
      "given "
      "several times")("stall", po::value<std::vector<std::string>>()->value_name("STALL")->composing(),
                       "HOST:at=TIME,for=TIME: the host is not scheduled then: it drops what arrives and "
                       "knows how much; may be "
                       "given several times")(
      "background", po::value<std::string>()->value_name("PCT"),
      "every channel loses by itself: each a share of its own, log-uniform from a tenth of PCT up to PCT; "
      "above 0% and below 5%")("hash",
                               po::value<std::string>()->value_name("HASH")->default_value("structureless"),
                               "by which switches choose: structureless, crc16, crc32, toeplitz or xor; "
                               ":modulo, :threshold or :table; and :qp, :class, :ingress or :polarised");
  parser.positional("fabric", 1);
  add_sweep_options(parser.options(Group::how_much));
  add_timeout_option(parser.options(Group::how_much));
  add_answer_options(parser.options(Group::output));
  add_collective_options(parser.options(Group::job));
  return parser;
}

int simulate_command(const Arguments& arguments) {
  const auto parser = simulate_options();
  const auto values = parser.parse(arguments);
  if (!values) return report(values.error());
  if (parser.help_was_asked(*values)) return kExitHealthy;
  if (const auto known = check_answer_options(*values); !known) return report(known.error());
  if (!values->count("fabric"))
    return report({ErrorKind::usage, "no fabric file given\ntry: weft simulate --help"});
  const auto options = read_sweep_options(*values, false);
  if (!options) return report(options.error());
  const auto file = load_fabric_file((*values)["fabric"].as<std::string>());
  if (!file) return report(file.error());
  const auto faults = read_all<FaultSpec>(*values, "fault", file->fabric, parse_fault);
  if (!faults) return report(faults.error());
  const auto stalls = read_all<HostStall>(*values, "stall", file->fabric, parse_stall);
  if (!stalls) return report(stalls.error());
  if (collective_was_asked(*values) && !stalls->empty())
    return report({ErrorKind::usage, "--stall is for sweeps: completion times know no hosts that stall"});
  const auto background = read_background(*values);
  if (!background) return report(background.error());
  if (collective_was_asked(*values) && values->count("background"))
    return report({ErrorKind::usage, "--background is for sweeps: completion times know no losses"});
  if (collective_was_asked(*values)) return simulate_collective(*values, file->fabric, *faults);
  for (const char* name : {"plot", "packets", "measured"})
    if (values->count(name))
      return report({ErrorKind::usage, fmt::format("--{} goes with --collective or --flows", name)});
  return simulate_sweep(*values, *file, *options, *faults, *stalls, *background);
}

}  // namespace weft::cli
