#include "cli/topology_discover.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/exit_status.hpp"
#include "cli/infiniband_source.hpp"
#include "cli/stamp.hpp"
#include "cli/terminal.hpp"
#include "cli/topology_discover_roce.hpp"
#include "probes/discover/against_tree.hpp"
#include "probes/discover/cabling_json.hpp"
#include "topology/base/text.hpp"
#include "topology/base/text_table.hpp"
#include "topology/files/fabric_file.hpp"
#include "topology/files/ibnetdiscover.hpp"
#include "topology/lab/ibsim/ib_lab.hpp"

namespace weft::cli {
namespace {

constexpr std::string_view kDiscoverExamples =
    "  weft topology discover --hosts gpu[001-064]    # RoCE: what traces show\n"
    "  weft topology discover --hosts gpu[001-064] -o yaml > fabric.yaml\n"
    "  weft topology discover --lldp dumps/ -o yaml > fabric.yaml  # by LLDP alone\n"
    "  weft topology discover --hosts @hosts.txt --lldp dumps/ --against fabric.yaml\n"
    "  weft topology discover                         # InfiniBand: what is there\n"
    "  weft topology discover -o yaml > fabric.yaml   # the fabric as a fabric file\n"
    "  weft topology discover --dump net.txt -o yaml  # the same, out of a dump\n";
constexpr std::string_view kCheckExamples =
    "  weft topology check fabric.yaml --lab   # what differs from the file\n"
    "  weft topology check fabric.yaml --device mlx5_0 -o json\n";

unsigned count_tier(const Fabric& fabric, Tier tier) {
  unsigned count = 0;
  for (const Node& node : fabric.nodes()) count += node.tier == tier ? 1 : 0;
  return count;
}

/// The links by width and speed: "8192 at 4xHDR".
std::map<std::string, unsigned> shapes(const InfinibandFabric& found) {
  std::map<std::string, unsigned> result;
  for (const Link& link : found.fabric.links()) {
    const IbPort& port = found.inventory.ports[link.a.value()];
    result[port.width && port.speed ? fmt::format("{}{}", to_string(*port.width), to_string(*port.speed))
                                    : std::string("unknown")]++;
  }
  return result;
}

void print_remarks(const std::vector<std::string>& remarks, FILE* to) {
  for (const auto& remark : remarks)
    fmt::print(to, "{}", wrapped("note: " + remark, 0, terminal_columns(), 4));
}

void print_summary(const FoundFabric& found) {
  const Fabric& fabric = found.fabric.fabric;
  std::string above;  // trees of more than three levels
  for (const Tier tier : kTiers)
    if (const unsigned count = count_tier(fabric, tier); tier > Tier::core && count > 0)
      above += fmt::format(", {} of {}", count, to_string(tier));
  print_wrapped(fmt::format("fabric {}: {} hosts with {} ports, {} leaves, {} spines, {} cores{}, {} links",
                            fabric.name(), fabric.hosts().size(), fabric.nics().size(),
                            count_tier(fabric, Tier::leaf), count_tier(fabric, Tier::spine),
                            count_tier(fabric, Tier::core), above, fabric.link_count()));
  for (const auto& [shape, count] : shapes(found.fabric)) fmt::print("  {} at {}\n", count, shape);
  for (const auto& node : found.fabric.inventory.aggregation_nodes)
    fmt::print("  aggregation node 0x{:x}\n", node.guid.value());
  if (found.tally.questions > 0)
    fmt::print("asked {} questions in {} ({} sent, {} unanswered)\n", found.tally.questions,
               to_string(std::chrono::round<std::chrono::milliseconds>(found.took)), found.tally.sent,
               found.tally.silent);
  print_remarks(found.fabric.remarks, stdout);
}

void print_cabling(const Fabric& expected, const discover::CablingReport& report,
                   const std::vector<std::string>& remarks) {
  TextTable table({{"WHAT"}, {"WHERE"}, {"SHOULD BE"}, {"IS"}});
  for (const auto& fault : report.faults)
    table.add({std::string(to_string(fault.kind)), fault.where, fault.should, fault.is});
  if (!table.empty()) fmt::print("{}", table.text(terminal_columns()));
  for (const auto& remark : report.remarks) print_wrapped(to_string(remark));
  print_remarks(remarks, stderr);
  const auto& faults = report.faults;
  fmt::print("{} of {} links as they should be, {} to look at{}\n", report.links_right, expected.link_count(),
             faults.size(),
             report.remarks.empty() ? "" : fmt::format(", {} renamed or replaced", report.remarks.size()));
}

Arguments program_words(const char* word, const Arguments& arguments) {
  Arguments words{"topology", word};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

}  // namespace

bool names_a_live_fabric(const Arguments& arguments) {
  return std::any_of(arguments.begin(), arguments.end(), [](const std::string& word) {
    return word.starts_with("--lab") || word.starts_with("--device") || word.starts_with("--dump");
  });
}

OptionParser topology_discover_options() {
  OptionParser parser(
      "weft topology discover [options]",
      "Finds out what a fabric consists of. RoCE: by traces between its hosts (--hosts), from LLDP tables "
      "and "
      "other records, or both. InfiniBand (without these options): reads the fabric that this host is on, or "
      "a dump of one.",
      std::string(kDiscoverExamples));
  parser.options().add_options()(
      "name", po::value<std::string>()->value_name("NAME")->default_value("discovered"), "the fabric's name")(
      "output,o",
      po::value<std::string>()->value_name("table|yaml|json|ibnetdiscover")->default_value("table"),
      "table: counts and notes; yaml: a fabric file; json: RoCE alone; ibnetdiscover: a dump");
  add_roce_discovery_options(parser);
  add_infiniband_options(parser.options(Group::infiniband));
  return parser;
}

int topology_discover_command(const Arguments& arguments) {
  auto parser = topology_discover_options();
  const auto values = parser.parse(arguments);
  if (!values) return report(values.error());
  if (OptionParser::help_was_asked(*values)) return kExitHealthy;
  if (const auto checked = check_what_traces_need(*values); !checked) return report(checked.error());
  if (is_roce_discovery(*values)) return discover_roce(*values);
  const auto format = (*values)["output"].as<std::string>();
  if (format != "table" && format != "yaml" && format != "ibnetdiscover")
    return report({ErrorKind::usage, fmt::format("-o {}: expected table, yaml or ibnetdiscover", format)});
  if (values->count("against"))
    return report({ErrorKind::usage,
                   "--against is for RoCE; of InfiniBand: weft topology check FABRIC.yaml --device HCA"});
  const auto tree = read_switch_tree(*values);
  if (!tree) return report(tree.error());
  const auto found =
      find_fabric(*values, (*values)["name"].as<std::string>(), program_words("discover", arguments));
  if (!found) {
    const int status = report(found.error());
    // Without an option a RoCE host is asked for an adapter that it does not have.
    if (status == kExitAbsent && !values->count("dump") && !values->count("lab"))
      print_stderr("try, of a RoCE fabric: weft topology discover --hosts LIST, or --lldp DIR\n");
    return status;
  }
  if (format == "table") print_summary(*found);
  if (format != "table") print_remarks(found->fabric.remarks, stderr);
  if (format == "yaml") fmt::print("{}", files::write_fabric_file(found->fabric.fabric));
  if (format == "ibnetdiscover")
    fmt::print("{}", files::write_ibnetdiscover(found->fabric.fabric, found->fabric.inventory));
  discover::TreeComparison compared;
  if (*tree) compared = discover::compare_with_tree(found->fabric.fabric, **tree);
  for (const std::string& line : compared.disagreements) print_stderr("disagree: {}\n", line);
  for (const std::string& line : compared.gaps) print_stderr("unknown: {}\n", line);
  return !compared.disagreements.empty() ? kExitDegraded
         : compared.gaps.empty()         ? kExitHealthy
                                         : kExitUnknown;
}

OptionParser topology_cabling_options() {
  OptionParser parser(
      "weft topology check FABRIC.yaml [(--lab=NAME | --device HCA | --dump FILE) [options]]",
      "A file alone: says whether it is sound, and what is odd about its fabric: parts that are not joined, "
      "nodes without a cable, switches with fewer or slower uplinks than their fellows; exit status 1 when "
      "something is. With --lab, --device or --dump: compares that InfiniBand fabric with the file that says "
      "how it should be, and names devices of another model or firmware than most beside them.",
      std::string(kCheckExamples));
  add_infiniband_options(parser.options(Group::infiniband));
  parser.options().add_options()("fabric", po::value<std::string>()->value_name("FABRIC.yaml"),
                                 "what it should be");
  add_output_option(parser.options(Group::output));
  parser.positional("fabric", 1);
  parser.command_line_only({"lab", "device", "dump"});  // these make it another question
  return parser;
}

int topology_cabling_command(const Arguments& arguments) {
  auto parser = topology_cabling_options();
  const auto values = parser.parse(arguments);
  if (!values) return report(values.error());
  if (OptionParser::help_was_asked(*values)) return kExitHealthy;
  const auto json = wants_json(*values);
  if (!json) return report(json.error());
  const auto path = text_option(*values, "fabric");
  if (!path) return report({ErrorKind::usage, "no fabric file given: weft topology check FABRIC.yaml --lab"});
  const auto file = files::read_fabric_file(*path);
  if (!file) return report(file.error());
  auto found = find_fabric(*values, file->fabric.name(), program_words("check", arguments), true);
  if (!found) return report(found.error());
  print_remarks(*file);  // not earlier: in a lab the command starts itself again
  if (const auto unread = found->firmware.unread; unread > 0)
    found->fabric.remarks.push_back(fmt::format("{} devices do not tell their firmware version", unread));
  const Fabric expected = values->count("lab") ? lab::at_ibsim_rates(file->fabric) : file->fabric;
  auto cabling = discover::check_cabling(expected, found->fabric);
  auto& faults = cabling.faults;
  std::ranges::move(check_firmware(found->fabric.fabric, found->firmware.devices),
                    std::back_inserter(faults));
  if (*json)
    fmt::print("{}", cabling_json(expected, cabling, found->fabric.remarks, stamp_now()));
  else
    print_cabling(expected, cabling, found->fabric.remarks);
  const bool failed = std::any_of(faults.begin(), faults.end(), [](const discover::CablingFault& fault) {
    return fault.kind == discover::CablingKind::missing_node ||
           fault.kind == discover::CablingKind::missing_cable ||
           fault.kind == discover::CablingKind::miswired;
  });
  return failed ? kExitFailed : faults.empty() ? kExitHealthy : kExitDegraded;
}

}  // namespace weft::cli
