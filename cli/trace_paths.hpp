// `weft trace --every-path`: all paths of one pair of NICs, or of many, by asking only the hops that decide.
#pragma once

#include "cli/trace_words.hpp"
#include "topology/files/fabric_file.hpp"

namespace weft::cli {

/// In a lab, live by agents, or in a simulation; the exit status: unknown where not all paths of the fabric
/// were seen.
int find_paths_lab(const po::variables_map& values, const TraceWords& words);
int find_paths_cluster(const po::variables_map& values, const TraceWords& words,
                       const files::FabricFile& file);
int find_paths_simulated(const TraceWords& words, const files::FabricFile& file);

}  // namespace weft::cli
