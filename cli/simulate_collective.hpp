// weft simulate FABRIC.yaml --collective C: how long a job's flows take, spread in different ways.
#pragma once

#include <vector>

#include "balancer/assign/choose_algorithm.hpp"
#include "cli/options.hpp"
#include "topology/model/fault.hpp"

namespace weft {
class Fabric;
}

namespace weft::cli {

/// The options of simulate that belong to this part: those of the demand, and --plot.
void add_collective_options(po::options_description& options);
/// What --measured says, or else --latency: of one step of a collective.
Result<assign::MeasuredCost> read_step_cost(const po::variables_map& values, const Fabric& fabric);
/// True when the demand was given: then simulate_collective() is meant, not a sweep.
bool collective_was_asked(const po::variables_map& values);

/// Prints the table or the JSON document. Faults that take away a channel's rate count (down, rate, load);
/// others have no place in a fluid model and are refused.
int simulate_collective(const po::variables_map& values, const Fabric& fabric,
                        const std::vector<FaultSpec>& faults);

}  // namespace weft::cli
