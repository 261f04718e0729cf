// weft balance: a path, and where a path map tells it a label, for every QP of a job.
#include "cli/balance_answer.hpp"
#include "cli/balance_lab.hpp"
#include "cli/commands.hpp"
#include "cli/exit_status.hpp"
#include "cli/place_groups.hpp"

namespace weft {
namespace {

constexpr const char* kExamples =
    "  weft balance --fabric roce-a.yaml --collective ring --hosts 16\n"
    "  weft balance --fabric roce-a.yaml --flows job.jsonl --qps 4 --paths map.json -o json\n"
    "  weft balance --fabric roce-a.yaml --place tensor:8:10GB --place data:16:2GB\n"
    "  weft balance --lab=mine --collective shift-4 --hosts 16 --qps 4 --run\n"
    "  weft balance --lab=mine --collective ring --hosts 16 --qps 4 --run --fail leaf1--spine2\n";

int balance_fabric(const po::variables_map& values) {
  for (const char* name : {"run", "fail"})
    if (values.count(name))
      return report({ErrorKind::usage, fmt::format("--{} goes with --lab: files carry no packets", name)});
  const auto file = load_fabric_file(values["fabric"].as<std::string>());
  if (!file) return report(file.error());
  const Fabric& fabric = file->fabric;
  if (values.count("place")) return place_groups_of(values, fabric);
  auto options = read_balance_options(fabric, values);
  if (!options) return report(options.error());
  if (options->paths) options->assign.paths = &*options->paths;
  const Demand& demand = options->asked.demand;
  return answer_balance(fabric, *options,
                        options->previous ? reassign(fabric, demand, options->assign, *options->previous)
                                          : assign(fabric, demand, options->assign));
}

}  // namespace

int balance_command(const Arguments& arguments) {
  OptionParser parser(
      "weft balance (--fabric FABRIC.yaml | --lab=NAME) (--flows FLOWS.jsonl | --collective NAME --hosts N) "
      "[options]",
      "Gives every QP of a job a path so that no link carries more than it must.", kExamples);
  parser.options().add_options()("fabric", po::value<std::string>()->value_name("FILE"), "the fabric file");
  add_balance_lab_options(parser.options());
  add_balance_options(parser.options());
  add_place_options(parser.options());
  add_output_option(parser.options());
  const auto values = parser.parse(arguments);
  if (!values) return report(values.error());
  if (OptionParser::help_was_asked(*values)) return kExitHealthy;
  if (values->count("lab") + values->count("fabric") != 1)
    return report({ErrorKind::usage, "give either --fabric FABRIC.yaml or --lab=NAME"});
  return values->count("lab") ? balance_lab(*values) : balance_fabric(*values);
}

}  // namespace weft
