// The same work over two sides, block by block: A, B, B, A. Each run is a process of its own (weft itself, or
// a benchmark of the user's), which writes its files into one directory; what stands there already is not run
// again, so an interrupted comparison can be taken up.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "collectors/compare/built_fabric.hpp"
#include "collectors/compare/comparison.hpp"
#include "collectors/compare/measured_run.hpp"
#include "collectors/compare/probe_cells.hpp"

namespace weft::cli {

struct ComparedSide {
  std::string name;                                             // "a.yaml", "lab b, qps=4"
  std::vector<std::string> argv;                                // the program and its words
  std::vector<std::string> env;                                 // NAME=value
  std::string load = {};                                        // of a sweep, as --load has it
  std::shared_ptr<const Fabric> fabric = nullptr;               // of a sweep
  std::shared_ptr<const compare::BuiltFabric> built = nullptr;  // the same, what it is built for
  compare::ProbesAlone probes_alone = compare::ProbesAlone::no;
};

struct BlockPlan {
  ComparedSide a, b;
  bool is_benchmark = false;  // what it prints is the run; else weft sweeps and writes files
  std::filesystem::path directory;
  std::string only;         // of cells: their names have this; empty: all
  Nanoseconds run_limit{};  // of one run: then it has failed

  /// One side carries nothing else: of both only probes are compared.
  bool probes_alone() const {
    return a.probes_alone != compare::ProbesAlone::no || b.probes_alone != compare::ProbesAlone::no;
  }
  /// Path maps are of whole tables on both sides.
  bool maps_ways() const {
    return a.probes_alone == compare::ProbesAlone::infiniband_lab && a.probes_alone == b.probes_alone;
  }
};

/// What a block is made of, and what can be said of those that failed.
struct BlockRuns {
  std::vector<compare::Run> a, b;                // in the order of blocks: two a block
  std::vector<compare::MeasuredRun> of_a, of_b;  // the same; none of benchmarks
  std::vector<std::string> remarks;
  std::size_t blocks() const { return a.size() / 2; }
};

/// Says what is run, and which block that is.
using OnRun = std::function<void(std::size_t block, std::string_view side)>;

/// Checks that the directory holds no other comparison, and writes down which this is. Error: usage.
Result<void> claim_directory(const BlockPlan& plan);

enum class BlockEnd { taken, left_out, interrupted };

/// Runs block `number` (from 1), and adds its runs; one that fails is repeated once, then left out with a
/// remark. Error: the very first block fails twice: so would all others.
Result<BlockEnd> run_block(const BlockPlan& plan, std::size_t number, BlockRuns& runs, const OnRun& on_run,
                           std::stop_token stop);

}  // namespace weft::cli
