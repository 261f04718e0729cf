#include "cli/topology.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "cli/discovered_hosts.hpp"
#include "cli/exit_status.hpp"
#include "cli/options.hpp"
#include "cli/stamp.hpp"
#include "cli/terminal.hpp"
#include "cli/topology_discover.hpp"
#include "cli/topology_routes.hpp"
#include "cli/words.hpp"
#include "collectors/report/fabric_drawing.hpp"
#include "probes/diagnosis/host/host_check.hpp"
#include "topology/base/readable.hpp"
#include "topology/files/fabric_file.hpp"
#include "topology/files/fabric_json.hpp"
#include "topology/files/host_inventory_json.hpp"
#include "topology/host/host_reader.hpp"
#include "topology/model/fabric_check.hpp"

namespace weft::cli {
namespace {

// `weft topology show --host`: what one host has and how it is set, and what is odd about it.

std::string link_text(const PcieLink& link) {
  if (!link.lanes || !link.speed) return "";
  return fmt::format("x{} at {} GT/s", *link.lanes, link.speed->in_giga_transfers());
}

std::string numa_text(const std::optional<std::uint32_t>& numa) {
  return numa ? fmt::format("NUMA {}", *numa) : "";
}

void print_gpu(const GpuInventory& gpu) {
  print_wrapped(fmt::format(
      "GPU {}  {}  {:<7} {:<15}  near {}", gpu.pci, gpu.model, numa_text(gpu.numa), link_text(gpu.link),
      gpu.nearest_nics.empty() ? "no NIC" : fmt::format("{}", fmt::join(gpu.nearest_nics, ", "))));
}

void print_nic(const NicInventory& nic) {
  print_wrapped(fmt::format("NIC {}  {}  {:<7} {:<15}  {}", nic.pci.value_or("-"), name_of(nic),
                            numa_text(nic.numa), link_text(nic.link), nic.rdma_device.value_or("")));
  std::vector<std::string> facts;
  if (nic.port_state) facts.push_back(*nic.port_state);
  if (nic.up) facts.push_back(*nic.up ? "up" : "no carrier");
  if (nic.rate) facts.push_back(readable(*nic.rate));
  if (nic.mtu) facts.push_back(fmt::format("MTU {}", nic.mtu->count()));
  if (nic.firmware) facts.push_back("firmware " + *nic.firmware);
  if (nic.gids) facts.push_back(fmt::format("{} GIDs of RoCE v2", nic.gids->roce_v2));
  for (const auto& [name, value] : nic.settings) facts.push_back(fmt::format("{}: {}", name, value));
  print_wrapped(fmt::format("{}", fmt::join(facts, "; ")), 4);
}

int print(const HostInventory& inventory) {
  fmt::print("{} GPUs, {} NICs, {} PCIe switches\n", inventory.gpus.size(), inventory.nics.size(),
             inventory.pcie_switches.size());
  for (const auto& node : inventory.numa_nodes)
    print_wrapped(fmt::format("NUMA {}: CPUs {}", node.number, node.cpus));
  for (const auto& found : inventory.pcie_switches)
    print_wrapped(
        fmt::format("switch {}  {}  above {}", found.pci, found.model, fmt::join(found.below, ", ")));
  for (const GpuInventory& gpu : inventory.gpus) print_gpu(gpu);
  for (const NicInventory& nic : inventory.nics) print_nic(nic);
  for (const auto& gap : inventory.gaps) print_wrapped("not read: " + gap);
  const auto odd = diagnosis::check_alone(inventory);
  for (const auto& line : odd) print_wrapped("odd: " + line);
  return odd.empty() ? kExitHealthy : kExitDegraded;
}

/// Of this host, or of one captured under a folder; `values` holds `host` and `output`.
int show_host(const po::variables_map& values) {
  const auto format = values["output"].as<std::string>();
  if (format != "table" && format != "json")
    return report(Error{ErrorKind::usage, fmt::format("-o {}: a host is shown as table or json", format)});
  const auto root = values["host"].as<std::string>();
  const auto inventory = host::read_host({.root = root});
  if (!inventory) return report(inventory.error());
  if (format == "table") return print(*inventory);
  const auto name = root == "/" ? this_hosts_name() : root;
  fmt::print("{}", host_inventory_json(name, *inventory, stamp_now()));
  return diagnosis::check_alone(*inventory).empty() ? kExitHealthy : kExitDegraded;
}

/// A file alone is checked for itself; with a fabric beside it, the fabric is checked against the file. Both
/// have one help page.
int topology_check_or_compare(const Arguments& arguments) {
  const bool asks_for_help = std::ranges::any_of(
      arguments, [](const std::string& word) { return word == "--help" || word == "-h"; });
  return asks_for_help || names_a_live_fabric(arguments) ? topology_cabling_command(arguments)
                                                         : topology_check_command(arguments);
}

constexpr std::array<Command, 6> kWords{{
    {"show", "print the fabric of a file: what it consists of, or all of it", topology_show_command,
     topology_show_options},
    {"check", "say whether a file is sound, or where an InfiniBand fabric differs from it",
     topology_check_or_compare, topology_cabling_options},
    {"generate", "write the file of a fabric of a usual shape", topology_generate_command,
     topology_generate_options},
    {"discover", "find out what a RoCE or InfiniBand fabric consists of", topology_discover_command,
     topology_discover_options},
    {"routes", "say what an InfiniBand fabric's forwarding tables amount to", topology_routes_command,
     topology_routes_options},
    {"export", "write the network as a scheduler has it: Slurm's topology.conf or .yaml",
     topology_export_command, topology_export_options},
}};

Result<files::FabricFile> read_file(const po::variables_map& values) {
  const auto path = text_option(values, "fabric");
  if (!path) return fail(ErrorKind::usage, "which fabric file? expected FABRIC.yaml");
  return load_fabric_file(*path);
}

void print_summary(const Fabric& fabric) {
  const auto summary = summarise(fabric);
  print_wrapped(fmt::format("fabric {} ({}): {} nodes, {} NICs, {} links, {} channels", fabric.name(),
                            to_string(fabric.kind()), fabric.node_count(), summary.nics, fabric.link_count(),
                            fabric.channel_count()));
  for (const auto& part : summary.nodes) fmt::print("  {:<28}{:>9}\n", part.what, part.count);
  for (const auto& part : summary.links) fmt::print("  {:<28}{:>9}\n", part.what, part.count);
}

int show(const po::variables_map& values) {
  if (values.count("host")) return show_host(values);
  if (values.count("nics")) return show_nics(values["output"].as<std::string>());
  const auto format = values["output"].as<std::string>();
  constexpr std::array<std::string_view, 5> kFormats{"table", "json", "yaml", "svg", "dot"};
  if (std::ranges::find(kFormats, format) == kFormats.end())
    return report(
        Error{ErrorKind::usage, fmt::format("-o {}: expected {}", format, fmt::join(kFormats, ", "))});
  const auto file = read_file(values);
  if (!file) return report(file.error());
  if (format == "svg") fmt::print("{}", report::fabric_svg(file->fabric));
  if (format == "dot") fmt::print("{}", report::fabric_dot(file->fabric));
  if (format == "json") fmt::print("{}", fabric_json(file->fabric, stamp_now()));
  if (format == "yaml")
    fmt::print("{}", files::write_fabric_file(file->fabric, file->lab, file->addresses, file->domains));
  if (format == "table") print_summary(file->fabric);
  return kExitHealthy;
}

int check(const po::variables_map& values) {
  const auto file = read_file(values);
  if (!file) return report(file.error());
  print_summary(file->fabric);
  const auto odd = oddities(file->fabric);
  for (const auto& line : odd) print_wrapped("odd: " + line);
  if (odd.empty()) fmt::print("nothing odd\n");
  return odd.empty() ? kExitHealthy : kExitDegraded;
}

/// A parser with the file as its one word.
OptionParser parser_of_file(std::string usage, std::string summary, std::string examples) {
  OptionParser parser(std::move(usage), std::move(summary), std::move(examples));
  parser.options().add_options()("fabric", po::value<std::string>()->value_name("FILE"), "the fabric file");
  parser.positional("fabric", 1);
  return parser;
}

int run(OptionParser& parser, const Arguments& arguments, int (*command)(const po::variables_map&)) {
  const auto values = parser.parse(arguments);
  if (!values) return report(values.error());
  return OptionParser::help_was_asked(*values) ? kExitHealthy : command(*values);
}

}  // namespace

std::string this_hosts_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 && name[0] != '\0' ? name.data() : "localhost";
}

OptionParser topology_show_options() {
  auto parser = parser_of_file(
      "weft topology show (FABRIC.yaml | --host[=ROOT] | --nics) [-o table|json|yaml|svg|dot]",
      "Prints the fabric of a file: what it consists of, or every node and link. With --host, "
      "what this host has: GPUs, NICs,\nPCIe links and the settings that RoCE depends on; exit "
      "status 1 when something is odd about it.",
      "  weft topology show fabric.yaml\n  weft topology show fabric.yaml -o json\n  weft topology show "
      "fabric.yaml -o svg > fabric.svg\n  weft topology show --host\n");
  parser.options().add_options()(
      "output,o", po::value<std::string>()->value_name("table|json|yaml|svg|dot")->default_value("table"),
      "table for people, json for programs, yaml: the file with every node and link, svg and dot (Graphviz): "
      "a drawing by tier")(
      "host", po::value<std::string>()->implicit_value("/")->value_name("ROOT"),
      "this host, or one captured under ROOT (its sys/ and hwloc.xml), instead of a file")(
      "nics", "the interfaces of this host with their addresses, instead of a file");
  return parser;
}

int topology_show_command(const Arguments& arguments) {
  auto parser = topology_show_options();
  return run(parser, arguments, show);
}

OptionParser topology_check_options() {
  auto parser = parser_of_file("weft topology check FABRIC.yaml",
                               "Says whether a fabric file is sound, and what is odd about its fabric: parts "
                               "that are not joined, nodes\n"
                               "without a cable, switches with fewer or slower uplinks than their fellows. "
                               "Exit status 0 when nothing is, 1\n"
                               "when something is, 64 when the file cannot be read.",
                               "  weft topology check fabric.yaml\n");
  return parser;
}

int topology_check_command(const Arguments& arguments) {
  auto parser = topology_check_options();
  return run(parser, arguments, check);
}

const WordGroup& topology_words() {
  static const WordGroup words{"topology", "look at, check and write fabric files", kWords,
                               "  weft topology generate --clos leaves=4,spines=4,hosts=4 > fabric.yaml\n"
                               "  weft topology check fabric.yaml\n"
                               "  weft topology show fabric.yaml -o json\n"};
  return words;
}

int topology_command(const Arguments& arguments) { return run_word(topology_words(), arguments); }

}  // namespace weft::cli
