#include "cli/balance_options.hpp"

#include <cstdio>

#include "balancer/assign/assignment_reader.hpp"
#include "balancer/assign/avoid.hpp"
#include "cli/exit_status.hpp"
#include "cli/hashed_note.hpp"
#include "cli/stamp.hpp"
#include "probes/plan/predicted_labels.hpp"
#include "topology/base/result.hpp"
#include "topology/files/file_text.hpp"
#include "topology/files/path_map_json.hpp"
#include "topology/model/fabric.hpp"

namespace weft::cli {
namespace {

constexpr Bytes kMaxPathMapBytes(4'000'000'000);
constexpr Bytes kMaxAssignmentBytes(4'000'000'000);
constexpr Bytes kMaxBlacklistBytes(100'000'000);
constexpr Bytes kMaxDiagnosisBytes(1'000'000'000);
/// The linear programme is solved up to this size: below a second.
constexpr std::size_t kLpVariables = 5000;

/// The source ports of RoCE: 0xC000 and up (ibv_flow_label_to_udp_sport).
constexpr plan::LabelRange kRocePorts{PathLabel(0xC000), PathLabel(0xFFFF)};

void predict(PathMap& map) {
  const auto pairs = map.pairs.size();
  auto predicted = plan::predict_labels(map, kRocePorts);
  print_stderr("weft: {} of {} pairs have linear hashes: {} labels predicted\n", predicted.pairs_linear,
               pairs, predicted.labels_added);
  map = std::move(predicted.map);
}

Result<void> read_paths(const Fabric& fabric, BalanceOptions& options, const po::variables_map& values) {
  const auto path = text_option(values, "paths");
  if (!path) return {};
  WEFT_TRY(const auto text, files::read_text_file(*path, kMaxPathMapBytes));
  WEFT_TRY(auto document, files::parse_path_map_document(fabric, text, *path));
  note_hashed(document.fields, *path);
  options.paths = std::move(document.map);
  if (values.count("predict")) predict(*options.paths);
  return {};
}

Result<void> read_previous(const Fabric& fabric, BalanceOptions& options, const po::variables_map& values) {
  const auto path = text_option(values, "previous");
  if (!path) return {};
  WEFT_TRY(const auto text, files::read_text_file(*path, kMaxAssignmentBytes));
  WEFT_TRY(auto previous, assign::parse_assignment(fabric, text, *path));
  options.previous = std::move(previous);
  return {};
}

/// A channel that several sources speak of counts for the least of what they leave it.
void avoid(BalanceOptions& options, const assign::DocumentAvoided& avoided, const std::string& path) {
  for (const std::string& unknown : avoided.unknown) print_stderr("weft: {}: {}\n", path, unknown);
  options.assign.avoid.insert(options.assign.avoid.end(), avoided.channels.begin(), avoided.channels.end());
}

Result<void> read_avoid(const Fabric& fabric, BalanceOptions& options, const po::variables_map& values) {
  const auto path = text_option(values, "avoid");
  if (!path) return {};
  WEFT_TRY(const auto avoided, read_avoided(fabric, *path));
  avoid(options, avoided, *path);
  return {};
}

Result<void> read_diagnosis(const Fabric& fabric, BalanceOptions& options, const po::variables_map& values) {
  const auto path = text_option(values, "diagnosis");
  if (!path) return {};
  WEFT_TRY(const auto text, files::read_text_file(*path, kMaxDiagnosisBytes));
  WEFT_TRY(const auto document, files::parse_diagnosis(text, *path));
  if (document.fabric != fabric.name())
    return fail(ErrorKind::invalid_input, "{}: a diagnosis of fabric '{}', not of '{}'", *path,
                document.fabric, fabric.name());
  avoid(options, assign::avoided_by(fabric, document), *path);
  return {};
}

}  // namespace

Result<assign::DocumentAvoided> read_avoided(const Fabric& fabric, const std::string& path) {
  WEFT_TRY(const auto text, files::read_text_file(path, kMaxBlacklistBytes));
  if (blacklist::are_of_ledger(text)) {
    WEFT_TRY(const auto entries, blacklist::parse_entry_lines(text, path));
    return assign::avoided_by(fabric, entries);
  }
  WEFT_TRY(const auto entries, blacklist::parse_blacklist(text, path));
  return assign::avoided_by(fabric, entries, stamp_now().generated_at);
}

void add_balance_options(po::options_description& options) {
  add_demand_options(options);
  options.add_options()("qps", po::value<std::uint32_t>()->value_name("K")->default_value(1),
                        "queue pairs a flow")(
      "paths", po::value<std::string>()->value_name("FILE"),
      "a path map: only paths with known labels are used, and every QP gets its label")(
      "predict", "where the switches' hashes prove linear, use labels that were not probed too (RoCE)")(
      "avoid", po::value<std::string>()->value_name("FILE"),
      "a blacklist (weft.blacklist/1): links not to use")(
      "diagnosis", po::value<std::string>()->value_name("FILE"),
      "a diagnosis (weft.diagnosis/1): failed channels are not used, degraded and congested ones less")(
      "previous", po::value<std::string>()->value_name("FILE"),
      "an assignment made before: change it as little as the bound allows")(
      "weighted", "let the QPs of a flow carry different shares: lower than the bound for equal ones")(
      "reverse", "give the receivers' ACKs and CTS labels of their own")(
      "seed", po::value<std::uint64_t>()->value_name("N")->default_value(1),
      "the same seed gives the same answer");
}

Result<BalanceOptions> read_balance_options(const Fabric& fabric, const po::variables_map& values) {
  WEFT_TRY(auto asked, read_demand(fabric, values));
  BalanceOptions options{.asked = std::move(asked)};
  WEFT_TRY(options.output, read_output_format(values));
  options.html = text_option(values, "html");
  options.assign.qps = values["qps"].as<std::uint32_t>();
  if (options.assign.qps < 1 || options.assign.qps > assign::kMaxQps)
    return fail(ErrorKind::usage, "--qps {}: expected 1 to {}", options.assign.qps, assign::kMaxQps);
  options.assign.seed = values["seed"].as<std::uint64_t>();
  options.assign.reverse = values.count("reverse") != 0;
  options.assign.weighted = values.count("weighted") != 0;
  options.assign.lp_variables = kLpVariables;
  WEFT_TRY_VOID(in_turn([&] { return read_paths(fabric, options, values); },
                        [&] { return read_previous(fabric, options, values); },
                        [&] { return read_avoid(fabric, options, values); },
                        [&] { return read_diagnosis(fabric, options, values); }));
  return options;
}

}  // namespace weft::cli
