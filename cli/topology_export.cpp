// `weft topology export`: the network as a scheduler has it in a file.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "balancer/export/slurm_topology.hpp"
#include "cli/exit_status.hpp"
#include "cli/options.hpp"
#include "cli/output_files.hpp"
#include "cli/terminal.hpp"
#include "cli/topology.hpp"
#include "topology/base/host_list.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/files/fabric_file.hpp"
#include "topology/os/private_file.hpp"

namespace weft::cli {
namespace {

/// The file itself where the path is a link to it; nothing that is no file gives way to one.
Result<void> write_file(const std::filesystem::path& path, std::string_view text) {
  std::error_code error;
  const auto itself = std::filesystem::weakly_canonical(path, error);
  if (error) return fail(ErrorKind::usage, "--file {}: {}", path.string(), error.message());
  const auto status = std::filesystem::status(itself, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    return fail(ErrorKind::usage, "--file {}: it is there and no file: nothing was written", path.string());
  return os::write_whole_file(itself, text, os::kReadByAll, os::Existing::replaced);
}

Result<int> exported(const po::variables_map& values) {
  const auto path = text_option(values, "fabric");
  if (!path) return fail(ErrorKind::usage, "which fabric file? expected FABRIC.yaml");
  const auto to = text_option(values, "to");
  if (to != "topology.conf" && to != "topology.yaml")
    return fail(ErrorKind::usage, "{}: expected --to topology.conf or topology.yaml",
                to ? fmt::format("--to {}", *to) : "--to is missing");
  WEFT_TRY_VOID(check_files_apart(values, std::array{"file"}, std::array{"fabric"}));
  WEFT_TRY(const auto file, load_fabric_file(*path));
  WEFT_TRY(const auto nodes, read_option(values, "nodes", expand_hosts));
  WEFT_TRY(const auto topology, exports::slurm_topology(file.fabric, nodes));
  const auto text = to == "topology.conf" ? topology_conf(topology) : topology_yaml(topology);
  if (const auto written = text_option(values, "file"))
    WEFT_TRY_VOID(write_file(*written, text));
  else
    fmt::print("{}", text);
  if (topology.roots.size() > 1)
    print_stderr("weft: {} parts that nothing joins: {}; no job spans two of them\n", topology.roots.size(),
                 outside_text(fmt::format("{}", fmt::join(topology.roots, ", "))));
  if (!topology.unconnected.empty())
    print_stderr("weft: without a cable, and left out: {}\n",
                 outside_text(fmt::format("{}", fmt::join(topology.unconnected, ", "))));
  return topology.roots.size() > 1 || !topology.unconnected.empty() ? kExitDegraded : kExitHealthy;
}

}  // namespace

OptionParser topology_export_options() {
  OptionParser parser(
      "weft topology export FABRIC.yaml --to topology.conf|topology.yaml [--nodes LIST] [--file PATH]",
      "Writes the network as Slurm's topology/tree has it, so that a job's nodes are near together. What is "
      "joined at a tier, by\nhowever many switches, is one switch there. Exit status 1 when it falls into "
      "parts or hosts have no cable.",
      "  weft topology export cluster.yaml --to topology.conf --nodes 'gpu[001-064]' --file topology.conf\n");
  parser.options().add_options()("fabric", po::value<std::string>()->value_name("FILE"), "the fabric file")(
      "to", po::value<std::string>()->value_name("FORMAT"),
      "topology.conf, or topology.yaml of Slurm 25.05 and later")(
      "nodes", po::value<std::string>()->value_name("LIST"),
      "the nodes of Slurm (sinfo -a -h -o %N), as gpu[001-064],login2: each must be a host of the fabric, "
      "and other hosts are "
      "left out")("file", po::value<std::string>()->value_name("PATH"),
                  "where to write it, as a whole, instead of stdout");
  parser.positional("fabric", 1);
  return parser;
}

int topology_export_command(const Arguments& arguments) {
  auto parser = topology_export_options();
  const auto values = parser.parse(arguments);
  if (!values) return report(values.error());
  if (OptionParser::help_was_asked(*values)) return kExitHealthy;
  const auto status = exported(*values);
  return status ? *status : report(status.error());
}

}  // namespace weft::cli
