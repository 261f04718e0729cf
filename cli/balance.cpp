// weft balance: a path, and where a path map tells it a label, for every QP of a job.
#include <cstdio>

#include "balancer/assign/assignment_json.hpp"
#include "balancer/assign/assignment_reader.hpp"
#include "balancer/assign/avoid.hpp"
#include "balancer/assign/linear_labels.hpp"
#include "cli/commands.hpp"
#include "cli/demand_options.hpp"
#include "cli/exit_status.hpp"
#include "cli/stamp.hpp"
#include "topology/base/in_turn.hpp"
#include "topology/files/fabric_file.hpp"
#include "topology/files/file_text.hpp"
#include "topology/files/path_map_json.hpp"

namespace weft {
namespace {

constexpr Bytes kLargestPathMap(4'000'000'000);
constexpr Bytes kLargestAssignment(4'000'000'000);
constexpr Bytes kLargestBlacklist(100'000'000);
constexpr std::size_t kRowsForPeople = 64;
/// The linear programme is solved up to this size: below a second.
constexpr std::size_t kLpVariables = 5000;

constexpr const char* kExamples =
    "  weft balance --fabric roce-a.yaml --collective ring --hosts 16\n"
    "  weft balance --fabric roce-a.yaml --flows job.jsonl --qps 4 --paths map.json -o json\n";

struct BalanceOptions {
  FabricFile fabric;
  AskedDemand asked;
  AssignOptions assign;
  std::optional<PathMap> paths;
  std::optional<std::vector<std::vector<KeptQp>>> previous;
  bool json = false;
};

/// The source ports of RoCE: 0xC000 and up (ibv_flow_label_to_udp_sport).
constexpr LabelRange kRocePorts{PathLabel(0xC000), PathLabel(0xFFFF)};

void predict(PathMap& map) {
  const auto pairs = map.pairs.size();
  auto predicted = predict_labels(map, kRocePorts);
  fmt::print(stderr, "weft: {} of {} pairs have linear hashes: {} labels predicted\n", predicted.pairs_linear,
             pairs, predicted.labels_added);
  map = std::move(predicted.map);
}

Result<void> read_paths(BalanceOptions& options, const po::variables_map& values) {
  const auto path = text_option(values, "paths");
  if (!path) return {};
  const auto text = read_text_file(*path, kLargestPathMap);
  if (!text) return pass_on(text);
  auto map = parse_path_map(options.fabric.fabric, *text, *path);
  if (!map) return pass_on(map);
  options.paths = std::move(*map);
  if (values.count("predict")) predict(*options.paths);
  return {};
}

Result<void> read_previous(BalanceOptions& options, const po::variables_map& values) {
  const auto path = text_option(values, "previous");
  if (!path) return {};
  const auto text = read_text_file(*path, kLargestAssignment);
  if (!text) return pass_on(text);
  auto previous = parse_assignment(options.fabric.fabric, *text, *path);
  if (!previous) return pass_on(previous);
  options.previous = std::move(*previous);
  return {};
}

Result<void> read_avoid(BalanceOptions& options, const po::variables_map& values) {
  const auto path = text_option(values, "avoid");
  if (!path) return {};
  const auto text = read_text_file(*path, kLargestBlacklist);
  if (!text) return pass_on(text);
  const auto entries = parse_blacklist(*text, *path);
  if (!entries) return pass_on(entries);
  const auto avoided = avoided_by(options.fabric.fabric, *entries, stamp_now().generated_at);
  for (const std::string& unknown : avoided.unknown) fmt::print(stderr, "weft: {}: {}\n", *path, unknown);
  options.assign.avoid = avoided.channels;
  return {};
}

Result<BalanceOptions> read_options(const po::variables_map& values) {
  if (!values.count("fabric")) return fail(ErrorKind::usage, "--fabric FABRIC.yaml is missing");
  auto fabric = read_fabric_file(values["fabric"].as<std::string>());
  if (!fabric) return pass_on(fabric);
  auto asked = read_demand(fabric->fabric, values);
  if (!asked) return pass_on(asked);
  BalanceOptions options{std::move(*fabric), std::move(*asked), {}, {}, {}, false};
  const auto json = wants_json(values);
  if (!json) return pass_on(json);
  options.json = *json;
  options.assign.qps = values["qps"].as<std::uint32_t>();
  if (options.assign.qps < 1 || options.assign.qps > kMostQps)
    return fail(ErrorKind::usage, "--qps {}: expected 1 to {}", options.assign.qps, kMostQps);
  options.assign.seed = values["seed"].as<std::uint64_t>();
  options.assign.reverse = values.count("reverse") != 0;
  options.assign.weighted = values.count("weighted") != 0;
  options.assign.lp_variables = kLpVariables;
  const auto files =
      in_turn([&] { return read_paths(options, values); }, [&] { return read_previous(options, values); },
              [&] { return read_avoid(options, values); });
  if (!files) return pass_on(files);
  return options;
}

std::string size_of(double bytes) { return to_string(Bytes(static_cast<std::int64_t>(bytes + 0.5))); }

void print_phases(const Fabric& fabric, const Assignment& assignment) {
  fmt::print("{:<24} {:>10} {:>10} {:>7} {:>10} {:>10}  {}\n", "phase", "bound", "busiest", "ratio",
             "fractional", "NIC", "busiest channel");
  for (const PhaseAssignment& phase : assignment.phases)
    fmt::print("{:<24} {:>10} {:>10} {:>7.3f} {:>10} {:>10}  {}\n", phase.name,
               size_of(phase.bounds.integral), size_of(phase.load.busiest), phase.load.ratio,
               size_of(phase.bounds.fractional), size_of(phase.bounds.nic),
               phase.load.channel ? fabric.name_of(*phase.load.channel) : "none");
}

void print_qp(const Fabric& fabric, const Flow& flow, const SteeredQp& qp) {
  std::string path;
  for (const ChannelId channel : qp.route.channels())
    path += (path.empty() ? "" : " ") + fabric.name_of(channel);
  fmt::print("{:<12} {:<12} {:>4} {:>10} {:>8}  {}\n", fabric.name_of_nic(flow.src),
             fabric.name_of_nic(flow.dst), qp.qp, size_of(qp.bytes),
             qp.label ? fmt::to_string(qp.label->value()) : "-", path.empty() ? "within its leaf" : path);
}

void print_qps(const Fabric& fabric, const Demand& demand, const Assignment& assignment) {
  std::size_t left = kRowsForPeople;
  std::size_t more = 0;
  fmt::print("\n{:<12} {:<12} {:>4} {:>10} {:>8}  {}\n", "from", "to", "QP", "bytes", "label", "path");
  for (std::size_t p = 0; p < assignment.phases.size(); ++p)
    for (const SteeredQp& qp : assignment.phases[p].qps) {
      if (left == 0) {
        ++more;
        continue;
      }
      --left;
      print_qp(fabric, demand.phases[p].flows[qp.flow], qp);
    }
  if (more > 0) fmt::print("... and {} more: -o json lists all\n", more);
}

std::size_t print_unassigned(const AskedDemand& asked, const Assignment& assignment) {
  std::vector<Unassigned> all;
  for (const RefusedFlow& line : asked.refused) all.push_back({line.flow, line.why});
  for (const PhaseAssignment& phase : assignment.phases)
    all.insert(all.end(), phase.unassigned.begin(), phase.unassigned.end());
  for (const Unassigned& item : all) fmt::print(stderr, "weft: not assigned: {}: {}\n", item.flow, item.why);
  return all.size();
}

void print_moves(const Assignment& assignment) {
  std::uint64_t moves = 0;
  for (const PhaseAssignment& phase : assignment.phases) moves += phase.moves;
  fmt::print("\n{} QPs take another path than before\n", moves);
}

void print_table(const BalanceOptions& options, const Assignment& assignment) {
  const Fabric& fabric = options.fabric.fabric;
  fmt::print("{} on {}, {} QP{} a flow; bytes on a link of {}\n\n", options.asked.name, fabric.name(),
             options.assign.qps, options.assign.qps == 1 ? "" : "s", to_string(assignment.reference));
  print_phases(fabric, assignment);
  if (options.previous) print_moves(assignment);
  print_qps(fabric, options.asked.demand, assignment);
}

}  // namespace

int balance_command(const Arguments& arguments) {
  OptionParser parser(
      "weft balance --fabric FABRIC.yaml (--flows FLOWS.jsonl | --collective NAME --hosts N) [options]",
      "Gives every QP of a job a path so that no link carries more than it must.", kExamples);
  parser.options().add_options()("fabric", po::value<std::string>()->value_name("FILE"), "the fabric file");
  add_demand_options(parser.options());
  parser.options().add_options()("qps", po::value<std::uint32_t>()->value_name("K")->default_value(1),
                                 "queue pairs a flow")(
      "paths", po::value<std::string>()->value_name("FILE"),
      "a path map: only paths with known labels are used, and every QP gets its label")(
      "predict", "where the switches' hashes prove linear, use labels that were not probed too (RoCE)")(
      "avoid", po::value<std::string>()->value_name("FILE"),
      "a blacklist (weft.blacklist/1): links not to use")(
      "previous", po::value<std::string>()->value_name("FILE"),
      "an assignment made before: change it as little as the bound allows")(
      "weighted", "let the QPs of a flow carry different shares: lower than the bound for equal ones")(
      "reverse", "give the receivers' ACKs and CTS labels of their own")(
      "seed", po::value<std::uint64_t>()->value_name("N")->default_value(1),
      "the same seed gives the same answer");
  add_output_option(parser.options());
  const auto values = parser.parse(arguments);
  if (!values) return report(values.error());
  if (OptionParser::help_was_asked(*values)) return kExitHealthy;
  auto options = read_options(*values);
  if (!options) return report(options.error());
  if (options->paths) options->assign.paths = &*options->paths;
  const Fabric& fabric = options->fabric.fabric;
  const Demand& demand = options->asked.demand;
  const Assignment assignment = options->previous
                                    ? reassign(fabric, demand, options->assign, *options->previous)
                                    : assign(fabric, demand, options->assign);
  if (options->json)
    fmt::print("{}", assignment_json(fabric, options->asked.demand, assignment, options->asked.refused,
                                     stamp_now()));
  else
    print_table(*options, assignment);
  return print_unassigned(options->asked, assignment) > 0 ? kExitDegraded : kExitHealthy;
}

}  // namespace weft
