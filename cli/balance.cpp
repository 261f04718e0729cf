// weft balance: a path, and where a path map tells it a label, for every QP of a job.
#include <array>
#include <charconv>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "balancer/assign/rank_order.hpp"
#include "cli/balance_answer.hpp"
#include "cli/balance_lab.hpp"
#include "cli/commands.hpp"
#include "cli/exit_status.hpp"
#include "cli/hashed_note.hpp"
#include "cli/options.hpp"
#include "cli/output_files.hpp"
#include "cli/stamp.hpp"
#include "cli/terminal.hpp"
#include "topology/base/readable.hpp"
#include "topology/base/text_table.hpp"
#include "topology/files/json_text.hpp"
#include "topology/model/fabric.hpp"

namespace weft::cli {
namespace {

// `weft balance --place`: which parallelism of a job should sit at which layer of the fabric.

constexpr std::uint32_t kMaxGpus = 1024;  // of one host

/// "tensor:8:10GB".
Result<assign::Parallelism> read_parallelism(const std::string& text) {
  const auto first = text.find(':');
  const auto second = first == std::string::npos ? first : text.find(':', first + 1);
  assign::Parallelism parallelism;
  if (second == std::string::npos || first == 0)
    return fail(ErrorKind::usage, "--place {}: expected NAME:DEGREE:BYTES, as tensor:8:10GB", text);
  parallelism.name = text.substr(0, first);
  const auto [end, error] =
      std::from_chars(text.data() + first + 1, text.data() + second, parallelism.degree);
  if (error != std::errc{} || end != text.data() + second || parallelism.degree < 1)
    return fail(ErrorKind::usage, "--place {}: the degree is no number from 1", text);
  const auto bytes = parse_bytes(std::string_view(text).substr(second + 1));
  if (!bytes) return pass_on(bytes, "--place " + text);
  parallelism.bytes = *bytes;
  return parallelism;
}

void print_table(const Fabric& fabric, const std::vector<assign::Placed>& placed,
                 const std::vector<assign::Layer>& layers) {
  print_wrapped(fmt::format("on {}: innermost first; rank = sum of each group's index times its stride",
                            fabric.name()));
  TextTable table(
      {{"group"}, {"degree", true}, {"bytes", true}, {"stride", true}, {"within"}, {"for a rank", true}});
  for (const assign::Placed& each : placed)
    table.add({each.parallelism.name, fmt::format("{}", each.parallelism.degree),
               readable(each.parallelism.bytes), fmt::format("{}", each.stride), layers[each.layer].name,
               readable(layers[each.layer].per_rank)});
  fmt::print("\n{}\nsending takes {:.3g} s a step, one group after another\n", table.text(terminal_columns()),
             seconds_of(placed, layers));
}

std::string document(const Fabric& fabric, const std::vector<assign::Placed>& placed,
                     const std::vector<assign::Layer>& layers) {
  files::DocumentTree json = stamped_tree("weft.placement/1", stamp_now());
  json["fabric"] = fabric.name();
  json["seconds"] = seconds_of(placed, layers);
  auto& groups = json["groups"] = files::DocumentTree::array();
  for (const assign::Placed& each : placed)
    groups.push_back({{"name", each.parallelism.name},
                      {"degree", each.parallelism.degree},
                      {"bytes", each.parallelism.bytes.count()},
                      {"stride", each.stride},
                      {"within", layers[each.layer].name},
                      {"rank_rate", layers[each.layer].per_rank.bits_per_second()}});
  return files::document_text(json);
}

/// --place, --gpus, --nvlink.
void add_place_options(po::options_description& options) {
  options.add_options()(
      "place", po::value<std::vector<std::string>>()->value_name("GROUP"),
      "instead of flows: NAME:DEGREE:BYTES, as tensor:8:10GB, once for each parallelism of a "
      "job, with what a rank sends in a step; says which belongs at which layer")(
      "gpus", po::value<std::uint32_t>()->value_name("N")->default_value(8), "with --place: GPUs of a host")(
      "nvlink", po::value<std::string>()->value_name("BW")->default_value("3600G"),
      "with --place: a GPU's rate to the others of its host");
}

/// Prints the nesting (a table, or weft.placement/1).
int place_groups_of(const po::variables_map& values, const Fabric& fabric) {
  const auto json = wants_json(values);
  if (!json) return report(json.error());
  std::vector<assign::Parallelism> parallelisms;
  for (const std::string& text : values["place"].as<std::vector<std::string>>()) {
    auto parallelism = read_parallelism(text);
    if (!parallelism) return report(parallelism.error());
    parallelisms.push_back(std::move(*parallelism));
  }
  const auto gpus = values["gpus"].as<std::uint32_t>();
  if (gpus < 1 || gpus > kMaxGpus)
    return report({ErrorKind::usage, fmt::format("--gpus {}: expected 1 to {}", gpus, kMaxGpus)});
  const auto nvlink = read_option(values, "nvlink", parse_bandwidth);
  if (!nvlink) return report(nvlink.error());
  const auto layers = assign::layers_of(fabric, gpus, **nvlink);
  const auto placed = place_groups(parallelisms, layers);
  if (!placed) return report(placed.error());
  if (*json)
    fmt::print("{}\n", document(fabric, *placed, layers));
  else
    print_table(fabric, *placed, layers);
  return kExitHealthy;
}

constexpr const char* kExamples =
    "  weft balance --fabric fabric.yaml --collective ring --hosts 16\n"
    "  weft balance --fabric fabric.yaml --flows job.jsonl --qps 4 --paths map.json -o json\n"
    "  weft balance --fabric fabric.yaml --place tensor:8:10GB --place data:16:2GB\n"
    "  weft balance --lab=mine --collective shift-4 --hosts 16 --qps 4 --run\n"
    "  weft balance --lab=mine --collective ring --hosts 16 --qps 4 --run --fail leaf1--spine2\n";

int balance_fabric(const po::variables_map& values) {
  for (const char* name : {"run", "fail"})
    if (values.count(name))
      return report({ErrorKind::usage, fmt::format("--{} goes with --lab: files carry no packets", name)});
  if (!values["engine"].defaulted())
    return report({ErrorKind::usage, "--engine goes with --lab: files carry no packets"});
  const auto file = load_fabric_file(values["fabric"].as<std::string>());
  if (!file) return report(file.error());
  const Fabric& fabric = file->fabric;
  if (values.count("place")) return place_groups_of(values, fabric);
  auto options = read_balance_options(fabric, values);
  if (!options) return report(options.error());
  if (options->paths) options->assign.paths = &*options->paths;
  if (options->paths) note_hashed(file->lab.hashed, values["fabric"].as<std::string>());
  const demand::Demand& demand = options->asked.demand;
  return answer_balance(fabric, *options,
                        options->previous
                            ? assign::reassign(fabric, demand, options->assign, *options->previous)
                            : assign::assign(fabric, demand, options->assign));
}

}  // namespace

OptionParser balance_options() {
  OptionParser parser(
      "weft balance (--fabric FABRIC.yaml | --lab=NAME) (--flows FLOWS.jsonl | --collective NAME --hosts N | "
      "--job JOB | --place NAME:DEGREE:BYTES) [options]",
      "Gives every QP of a job a path so that no link carries more than it must.", kExamples);
  parser.options().add_options()("fabric", po::value<std::string>()->value_name("FILE"), "the fabric file");
  add_balance_lab_options(parser.options());
  add_balance_options(parser.options(Group::how));
  add_place_options(parser.options(Group::job));
  add_rows_option(parser.options(Group::output));
  add_html_option(parser.options(Group::output));
  parser.either({"lab"}, {"fabric"});
  parser.command_line_only({"run", "fail"});
  return parser;
}

int balance_command(const Arguments& arguments) {
  auto parser = balance_options();
  const auto values = parser.parse(arguments);
  if (!values) return report(values.error());
  if (OptionParser::help_was_asked(*values)) return kExitHealthy;
  if (values->count("lab") + values->count("fabric") != 1)
    return report({ErrorKind::usage, "give either --fabric FABRIC.yaml or --lab=NAME"});
  constexpr std::array kFiles{"html"};
  constexpr std::array kRead{"fabric", "flows", "paths", "previous", "avoid", "diagnosis"};
  if (const auto apart = check_output_files(*values, kFiles, kRead); !apart) return report(apart.error());
  for (const char* name : {"run", "place"})
    if (values->count("html") && values->count(name))
      return report({ErrorKind::usage, fmt::format("--html shows an assignment: leave out --{}", name)});
  return values->count("lab") ? balance_lab(*values) : balance_fabric(*values);
}

}  // namespace weft::cli
