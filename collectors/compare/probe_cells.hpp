// What of two fabrics is compared where one of them carries nothing but probes, as a lab of InfiniBand does:
// what arrives, which NICs are reached, how many ways a pair has. And what is impossible there. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "collectors/compare/measured_run.hpp"

namespace weft::compare {

/// Of probes of the smallest size: the share that arrived, by distance, and that of the path with the most
/// loss (of those with 100 packets); the share of the NICs asked that were reached; the different ways
/// between two NICs, the mean, where a path map was read.
std::map<Cell, Value> probe_cells(const MeasuredRun& run);

/// The same of paths of which these shares arrived (one a path of `probed`), without NICs and ways.
std::map<Cell, Value> arrived_cells(const MeasuredRun& run, const std::vector<double>& arrived);

/// Of each path of `probed` the share that arrived. Of one on which all was lost half a packet did, as half a
/// NIC is reached where none was: nothing has no ratio.
std::vector<double> arrived_of(const MeasuredRun& run);

/// Of which distances probes are sent is of the plan, no loss of a fabric: cells of a distance that all runs
/// of one side lack are taken from the other. Gives a remark for each.
std::vector<std::string> drop_distances_of_one_side(std::vector<Run>& a, std::vector<Run>& b);

/// Whether a side carries probes alone, and why: management datagrams load nothing. A live fabric of
/// InfiniBand does beside one of RoCE, unless it is swept by queue pairs.
enum class ProbesAlone { no, infiniband_lab, simulated_infiniband, live_infiniband };

/// What a side that carries probes alone cannot carry, so that it is not compared: a sentence each. Empty
/// where neither is one.
std::vector<std::string> impossible_things(ProbesAlone a, ProbesAlone b);

}  // namespace weft::compare
