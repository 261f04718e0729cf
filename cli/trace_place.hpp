// Where `weft trace` traces: in a lab, live by agents, or in a simulation. Each form of the command (paths of
// a pair, every path of many pairs, fields) starts a trace on the ground it is given; these run it there.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "cli/trace_words.hpp"
#include "probes/session/script.hpp"
#include "probes/session/sweep_options.hpp"
#include "topology/files/fabric_file.hpp"

namespace weft::cli {

enum class TracePlace : std::uint8_t { lab, cluster, simulation };

/// What a trace is made on; it outlives the trace.
struct TraceGround {
  TracePlace place;
  const Fabric& fabric;
  const AddressBook& addresses;
  session::SweepOptions options;
  RunId run;
};

/// A trace of one form of the command.
class Trace {
 public:
  virtual ~Trace() = default;
  virtual session::Script& script() = 0;
  /// Those it needs, in any order.
  virtual std::vector<PortId> nics() const = 0;
  /// Prints what the script found; the exit status.
  virtual int answer() = 0;
};
/// Errors: those of the NICs that the command names.
using StartTrace = std::function<Result<std::unique_ptr<Trace>>(const TraceGround&)>;

/// Each runs the trace and answers; the exit status.
int trace_in_lab(const po::variables_map& values, const TraceWords& words, const StartTrace& start);
int trace_in_cluster(const po::variables_map& values, const TraceWords& words, const files::FabricFile& file,
                     const StartTrace& start);
int trace_in_simulation(const TraceWords& words, const files::FabricFile& file, const StartTrace& start);

}  // namespace weft::cli
