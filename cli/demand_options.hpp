// The options with which `balance` and `simulate` are told what a job sends.
#pragma once

#include <string>

#include "balancer/demand/flow_file.hpp"
#include "cli/options.hpp"

namespace weft::cli {

/// --flows, --collective, --job, --hosts, --reorder, --bytes.
void add_demand_options(po::options_description& options);

struct AskedDemand {
  std::string name;  // "ring over 16 hosts", "flows.jsonl"
  demand::Demand demand;
  std::vector<demand::RefusedFlow> refused;
};

/// The hosts of --hosts, in the order that is to be used.
Result<std::vector<NodeId>> asked_hosts(const Fabric& fabric, const po::variables_map& values);

/// An Error where none of flows, a collective and jobs is given, or more than one.
Result<AskedDemand> read_demand(const Fabric& fabric, const po::variables_map& values);

}  // namespace weft::cli
