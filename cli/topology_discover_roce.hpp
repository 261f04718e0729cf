// `weft topology discover` of a RoCE fabric: by traces between its hosts, from a site's records, or both.
#pragma once

#include "cli/options.hpp"

namespace weft::cli {

/// --hosts and how agents are started, --lldp and the other records, --against, --rate, --answer-rate.
void add_roce_discovery_options(OptionParser& parser);

/// Whether the options speak of a RoCE fabric: hosts, records, or a lab of network namespaces.
bool is_roce_discovery(const po::variables_map& values);

int discover_roce(const po::variables_map& values);

}  // namespace weft::cli
