// `weft topology discover` of a RoCE fabric: by traces between its hosts, from a site's records, or both.
#pragma once

#include <optional>

#include "cli/options.hpp"
#include "topology/files/switch_tree.hpp"

namespace weft::cli {

/// --hosts and how agents are started, --lldp and the other records, --against, --slurm, --rate,
/// --answer-rate.
void add_roce_discovery_options(OptionParser& parser);

/// Whether the options speak of a RoCE fabric: hosts, records, or a lab of network namespaces.
bool is_roce_discovery(const po::variables_map& values);

/// A usage error where an option of traces stands without hosts to trace between.
Result<void> check_what_traces_need(const po::variables_map& values);

/// The file of --slurm, of either kind of fabric; what was left out of it is said on stderr.
Result<std::optional<files::SwitchTree>> read_switch_tree(const po::variables_map& values);

int discover_roce(const po::variables_map& values);

}  // namespace weft::cli
