#include <fmt/format.h>
#include <string>
#include <utility>
#include <vector>

#include "cli/agent.hpp"
#include "cli/agent_arguments.hpp"
#include "cli/cluster_arguments.hpp"
#include "cli/commands.hpp"
#include "cli/exit_status.hpp"
#include "cli/infiniband_lab.hpp"
#include "cli/infiniband_reading.hpp"
#include "cli/infiniband_source.hpp"
#include "cli/interrupt.hpp"
#include "cli/lab_place.hpp"
#include "cli/options.hpp"
#include "cli/output_files.hpp"
#include "cli/simulate_infiniband.hpp"
#include "cli/time_limit.hpp"
#include "cli/trace_answer.hpp"
#include "cli/trace_fields.hpp"
#include "cli/trace_paths.hpp"
#include "cli/trace_words.hpp"
#include "probes/mad/mads.hpp"
#include "probes/plan/path_learner.hpp"
#include "probes/plan/trace_plan.hpp"
#include "probes/run/agent_run.hpp"
#include "probes/run/engines.hpp"
#include "probes/session/trace_script.hpp"
#include "topology/files/fabric_file.hpp"
#include "topology/lab/ibsim/ib_lab.hpp"
#include "topology/routing/forwarding_tables.hpp"

namespace weft::cli {
namespace {

/// The paths between two NICs of an InfiniBand fabric, from the switches' forwarding tables.
struct InfinibandTrace {
  plan::PathLearner learner;
  std::uint32_t labels = 0;                          // the target's LIDs
  std::vector<std::pair<Lid, std::string>> without;  // those whose paths are not known, and why
};

/// The learner keeps its paths in `table` and speaks of `fabric`, which is that of the file: both must
/// outlive it. Errors: not_found (one of the NICs is not in the subnet), absent (it has no LID), those of
/// reading it.
Result<InfinibandTrace> trace_infiniband(mad::Mads& mads, const Fabric& fabric, const plan::NicPair& pair,
                                         PathTable& table) {
  WEFT_TRY(const auto reading, read_infiniband(mads, fabric));
  const auto from = reading.match.found_nic[pair.src.value()];
  const auto to = reading.match.found_nic[pair.dst.value()];
  if (!from || !to)
    return fail(ErrorKind::not_found, "{} is not in the subnet: is its cable in?",
                fabric.name_of_nic(from ? pair.dst : pair.src));
  const auto lids = reading.tables.tables.lids_of(*to);
  if (!lids)
    return fail(ErrorKind::absent, "{} has no LID: does a subnet manager run?", fabric.name_of_nic(pair.dst));
  static const AddressBook kNoAddresses;
  InfinibandTrace trace{.learner = plan::PathLearner(fabric, kNoAddresses, table), .labels = lids->count()};
  routing::AdaptiveRoutes routes(reading.found.fabric, reading.tables.tables);
  for (std::uint32_t i = 0; i < lids->count(); ++i) {
    const Lid lid(static_cast<std::uint16_t>(lids->base.value() + i));
    if (const auto paths = expected_paths(routes.walk(*from, lid), reading.match))
      trace.learner.adopt(pair.src, pair.dst, PathLabel(lid.value()), *paths);
    else
      trace.without.emplace_back(lid, paths.error().message);
  }
  return trace;
}

constexpr const char* kExamples =
    "  weft trace host1 host5 --lab                    # every path, and its labels\n"
    "  weft trace host1 host9 --labels 256 --lab=mine -o json\n"
    "  weft trace gpu001 gpu064 --fabric cluster.yaml  # live: agents on both, by ssh\n"
    "  weft trace host1 host5 --fabric fabric.yaml --simulate\n"
    "  weft trace 'host[1-8]' 'host[9-16]' --lab --every-path   # 64 pairs\n"
    "  weft trace host1 host5 --fabric fabric.yaml --map --hash crc32   # all labels\n"
    "  weft trace host1 host5 --lab --fields    # what switches choose paths by\n"
    "  weft trace gpu001 gpu064 --fabric ib.yaml --device mlx5_0   # InfiniBand\n"
    "  weft trace gpu001 gpu064 --fabric cluster.yaml --audit 64   # where queue pairs go\n"
    "  weft trace host1 host5 --lab --audit 12 --move   # spread them evenly while they live\n";

/// By what each NIC was traced from, in one line.
void report_engines(const Fabric& fabric, const session::TraceScript& script) {
  std::vector<std::string> said;
  for (const auto& [nic, text] : script.uses())
    said.push_back(fmt::format("{}: {}", fabric.name_of_nic(nic), text));
  if (!said.empty()) print_stderr("weft: traced by {}\n", fmt::join(said, "; "));
}

class PairTrace final : public Trace {
 public:
  PairTrace(const TraceGround& ground, const plan::NicPair& pair, const TraceWords& words)
      : ground_(ground),
        words_(words),
        pair_(pair),
        script_(ground.fabric, ground.addresses, ground.options, ground.run,
                {pair, plan::spread_labels(words.labels)},
                ground.place == TracePlace::simulation ? session::AuditOrder{} : words.audit, words.map) {}
  session::Script& script() override { return script_; }
  std::vector<PortId> nics() const override { return {pair_.src, pair_.dst}; }
  int answer() override {
    const bool names_engine = words_.engine == run::EngineKind::dpdk || !words_.dpdk_args.empty();
    const bool live = ground_.place == TracePlace::cluster;
    if (live || (ground_.place == TracePlace::lab && names_engine)) report_engines(ground_.fabric, script_);
    if (live) report_strangers(ground_.fabric, script_.learner());
    return answer_trace(ground_.fabric, script_, pair_, words_);
  }

 private:
  const TraceGround& ground_;
  const TraceWords& words_;
  plan::NicPair pair_;
  session::TraceScript script_;
};

StartTrace start_pair(const TraceWords& words) {
  return [&words](const TraceGround& ground) -> Result<std::unique_ptr<Trace>> {
    WEFT_TRY(const auto pair, find_pair(ground.fabric, words));
    for (const PortId nic : {pair.src, pair.dst})
      if (ground.place == TracePlace::cluster && !ground.addresses.address_of(nic))
        return fail(ErrorKind::usage, "{} has no address in the fabric file: add it under addresses, ports",
                    ground.fabric.name_of_nic(nic));
    return std::make_unique<PairTrace>(ground, pair, words);
  };
}

StartTrace start_of(const TraceWords& words) {
  if (words.fields) return start_fields(words);
  return words.every_path ? start_every_path(words) : start_pair(words);
}

/// On InfiniBand nothing is traced: the switches' tables tell the path of each of the target's LIDs.
int trace_in_tables(mad::Mads& mads, const Fabric& fabric, const plan::NicPair& pair,
                    const TraceWords& words) {
  PathTable table;
  const auto traced = trace_infiniband(mads, fabric, pair, table);
  if (!traced) return report(traced.error());
  for (const auto& [lid, why] : traced->without) print_stderr("weft: label {}: {}\n", lid.value(), why);
  print_paths(fabric, traced->learner, words, traced->labels, pair);
  return traced->without.empty() && !traced->learner.pairs().empty() ? kExitHealthy : kExitUnknown;
}

int trace_infiniband_lab(const std::string& name, const TraceWords& words, const Arguments& all) {
  const auto lab = lab::ib_lab_open(name, ib_lab_root());
  if (!lab) return report(lab.error());
  const auto pair = find_pair(lab->fabric, words);
  if (!pair) return report(pair.error());
  if (const auto entered = enter_infiniband_lab(*lab, all); !entered) return report(entered.error());
  const auto mads = open_lab_mads(*lab);
  return mads ? trace_in_tables(**mads, lab->fabric, *pair, words) : report(mads.error());
}

int trace_subnet(const po::variables_map& values, const TraceWords& words, const Fabric& fabric) {
  const auto pair = find_pair(fabric, words);
  if (!pair) return report(pair.error());
  const auto mads = open_subnet(values);
  return mads ? trace_in_tables(**mads, fabric, *pair, words) : report(mads.error());
}

/// The labels are the target's LIDs; the tables are those that a subnet manager would fill.
int trace_simulated_infiniband(const TraceWords& words, const files::FabricFile& file) {
  const auto pair = find_pair(file.fabric, words);
  if (!pair) return report(pair.error());
  const auto tables = simulated_tables(file.fabric, file.lab.lmc, {});
  if (!tables) return report(tables.error());
  PathTable table;
  const AddressBook addresses;
  plan::PathLearner learner(file.fabric, addresses, table);
  adopt_labels(learner, *tables->tables, *pair);
  print_paths(file.fabric, learner, words, 1U << file.lab.lmc, *pair);
  return learner.pairs().empty() ? kExitUnknown : kExitHealthy;
}

/// In the tables of the subnet where an adapter is named; else in those that a subnet manager would fill, and
/// that is said.
int trace_infiniband_fabric(const po::variables_map& values, const TraceWords& words,
                            const files::FabricFile& file) {
  if (words.audit.queue_pairs > 0)
    return report({ErrorKind::usage,
                   "--audit: on InfiniBand who connects chooses the LID, and no device a label of its own"});
  if (words.engine || !words.dpdk_args.empty())
    return report({ErrorKind::usage, "--engine and --dpdk-args: on InfiniBand tables tell the paths"});
  if (values.count("credential"))
    print_stderr("weft: --credential is not used: on InfiniBand tables tell the paths\n");
  const bool simulated = values.count("simulate") != 0;
  const bool names_adapter = !values["device"].as<std::string>().empty();
  if (!simulated && names_adapter) return trace_subnet(values, words, file.fabric);
  if (!simulated && !values["port"].defaulted())
    return report({ErrorKind::usage, "--port is one of an adapter: add --device HCA"});
  const int status = trace_simulated_infiniband(words, file);
  if (!simulated && status == kExitHealthy)
    print_stderr(
        "weft: traced in tables as a subnet manager would fill them; --device HCA asks the subnet\n");
  return status;
}

/// Who names an engine wants packets: a simulation is no answer.
Result<void> refuse_engine_of_nothing(const TraceWords& words, const std::string& path, bool no_addresses) {
  const bool named = words.engine || !words.dpdk_args.empty();
  if (!named || !no_addresses) return {};
  return fail(ErrorKind::usage,
              "{}: {} gives no addresses to send packets to (docs/fabric-file.md); leave "
              "the engine out to trace in a simulation",
              words.engine ? fmt::format("--engine {}", to_string(*words.engine)) : "--dpdk-args", path);
}

/// With packets where the file has addresses to send them to; else in a simulation, and that is said.
int trace_fabric(const po::variables_map& values, const TraceWords& words) {
  const auto path = values["fabric"].as<std::string>();
  const auto file = load_fabric_file(path);
  if (!file) return report(file.error());
  if (file->fabric.kind() == FabricKind::infiniband) {
    if (words.map.all_labels || words.every_path || words.fields || !values["hash"].defaulted())
      return report(
          {ErrorKind::usage,
           "--map, --every-path, --fields, --hash: on InfiniBand tables tell the path of every label"});
    return trace_infiniband_fabric(values, words, *file);
  }
  if (const auto none = refuse_subnet_options(values); !none) return report(none.error());
  if (words.audit.queue_pairs > 0 && file->addresses.empty())
    return report(
        {ErrorKind::usage, fmt::format("--audit: {} gives no addresses to reach RDMA devices at", path)});
  const bool simulated = values.count("simulate") != 0;
  if (const auto sent = refuse_engine_of_nothing(words, path, file->addresses.empty()); !sent)
    return report(sent.error());
  if (values.count("credential") && simulated)
    return report({ErrorKind::usage, "--credential is of a live fabric: in a simulation nothing is sent"});
  if (!simulated && !file->addresses.empty()) {
    if (!values["hash"].defaulted())
      return report({ErrorKind::usage, "--hash is of a simulation: add --simulate"});
    const auto live = read_live_fabric(path);
    if (!live) return report(live.error());
    return trace_in_cluster(values, words, *live, start_of(words));
  }
  const int status = trace_in_simulation(words, *file, start_of(words));
  if (!simulated && status == kExitHealthy)
    print_stderr("weft: {} gives no addresses: traced in a simulation, no packet was sent\n", path);
  return status;
}

}  // namespace

OptionParser trace_options() {
  OptionParser parser(
      "weft trace SRC DST [--labels N] (--lab=NAME | --fabric FABRIC.yaml) [-o json]",
      "Shows every path between two NICs and the labels (UDP source ports; on InfiniBand destination\n"
      "LIDs) that select it.",
      kExamples);
  parser.options().add_options()("src", po::value<std::string>()->value_name("NIC"),
                                 "from this NIC: HOST or HOST/pN")(
      "dst", po::value<std::string>()->value_name("NIC"), "to this NIC")(
      "labels", po::value<std::uint32_t>()->value_name("N")->default_value(64), "labels to try")(
      "lab", po::value<std::string>()->implicit_value(kDefaultLabName)->value_name("NAME"),
      "trace with packets in this lab")(
      "fabric", po::value<std::string>()->value_name("FILE"),
      "trace in this fabric: live where the file has addresses (InfiniBand: with --device), else simulated")(
      "audit", po::value<std::uint32_t>()->value_name("N"),
      "also connect N queue pairs with default settings: the ports they use, and how they spread over paths")(
      "move",
      "then move these while they live to ports that spread them evenly: how, and whether they live on")(
      "simulate", "simulate the fabric in any case: needs no hosts and no privileges")(
      "map",
      "all labels: traced until the others' paths follow from the switches' hashes, or these have no "
      "structure")("every-path",
                   "only until every path was seen, asking the hops that decide; SRC and DST may be lists "
                   "(host[1-8])")(
      "fields",
      "which fields of a packet move its path: one at a time is varied (source port, destination queue pair, "
      "traffic class, flow label, size)")(
      "hash", po::value<std::string>()->value_name("HASH")->default_value("structureless"),
      "of simulated switches: structureless, crc16, crc32, toeplitz or xor; :modulo, :threshold or :table; "
      "and :qp, :class, :ingress or :polarised");
  parser.options(Group::how)
      .add_options()("engine", po::value<std::string>()->value_name("auto|raw|dpdk")->default_value("auto"),
                     "how traces are sent on RoCE: auto, raw, or dpdk (the same packets by DPDK)");
  add_dpdk_option(parser.options(Group::how));
  add_timeout_option(parser.options(Group::how_much));
  add_exchange_option(parser.options(Group::rdma));
  add_launch_options(parser.options(Group::cluster));
  add_standing_agents_option(parser);
  add_subnet_options(parser.options(Group::infiniband));
  parser.positional("src", 1);
  parser.positional("dst", 1);
  add_rows_option(parser.options(Group::output));
  add_html_option(parser.options(Group::output));
  parser.either({"lab"}, {"fabric", "simulate", "hash", "credential"});
  parser.either({"credential"}, {"simulate", "audit"});
  return parser;
}

int trace_command(const Arguments& arguments) {
  auto parser = trace_options();
  const auto values = parser.parse(arguments);
  if (!values) return report(values.error());
  if (parser.help_was_asked(*values)) return kExitHealthy;
  const auto words = read_trace_words(*values);
  if (!words) return report(words.error());
  if (!values->count("lab")) return trace_fabric(*values, *words);
  if (const auto none = refuse_subnet_options(*values); !none) return report(none.error());
  if (values->count("credential"))
    return report({ErrorKind::usage, "--credential is of a live fabric: the agents of a lab are started"});
  const auto lab = (*values)["lab"].as<std::string>();
  if (!(*values)["hash"].defaulted())
    return report({ErrorKind::usage, "--hash is of a simulation: a lab's routers hash by their kernel"});
  if (!lab::ib_lab_exists(lab, ib_lab_root())) return trace_in_lab(*values, *words, start_of(*words));
  if (words->map.all_labels || words->every_path || words->fields)
    return report({ErrorKind::usage,
                   "--map, --every-path and --fields: on InfiniBand tables tell the path of every label"});
  if (words->audit.queue_pairs > 0)
    return report(
        {ErrorKind::usage, "--audit: an InfiniBand lab has no queue pairs, only management datagrams"});
  Arguments all{"trace"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return trace_infiniband_lab(lab, *words, all);
}

}  // namespace weft::cli
