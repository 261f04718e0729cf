#include "cli/topology_routes.hpp"

#include <fmt/format.h>

#include "cli/exit_status.hpp"
#include "cli/infiniband_source.hpp"
#include "cli/stamp.hpp"
#include "cli/terminal.hpp"
#include "collectors/report/routing_table.hpp"
#include "topology/files/routing_json.hpp"
#include "topology/model/fabric.hpp"

namespace weft::cli {
namespace {

constexpr const char* kExamples =
    "  weft topology routes                 # of the fabric that this host is on\n"
    "  weft topology routes --lab -o json   # of an InfiniBand lab, for programs\n";

}  // namespace

OptionParser topology_routes_options() {
  OptionParser parser(
      "weft topology routes [options]",
      "Reads the forwarding tables of all switches of an InfiniBand fabric, and tells which "
      "routes do not\n"
      "arrive, loop or can deadlock, how evenly the top tier is used, and how they were made. "
      "Exit status 0\n"
      "when every route arrives and none can deadlock, 2 when one does not arrive, else 1.",
      kExamples);
  add_infiniband_options(parser.options(Group::infiniband));
  add_output_option(parser.options(Group::output));
  return parser;
}

int topology_routes_command(const Arguments& arguments) {
  auto parser = topology_routes_options();
  const auto values = parser.parse(arguments);
  if (!values) return report(values.error());
  if (OptionParser::help_was_asked(*values)) return kExitHealthy;
  const auto json = wants_json(*values);
  if (!json) return report(json.error());
  Arguments words{"topology", "routes"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const auto found = find_routes(*values, words);
  if (!found) return report(found.error());
  const routing::RoutingReport routing = report_routing(found->fabric, found->tables.tables);
  const Fabric& fabric = found->fabric.fabric;
  if (*json)
    fmt::print("{}\n", routing_json(fabric, routing, found->engine, stamp_now()));
  else
    fmt::print("{}", report::routing_table(fabric, routing, found->engine, terminal_columns()));
  for (const auto& remark : found->tables.remarks) print_stderr("note: {}\n", remark);
  if (routing.unreachable > 0) return kExitFailed;
  return routing.credit_loop.empty() && found->tables.remarks.empty() ? kExitHealthy : kExitDegraded;
}

}  // namespace weft::cli
