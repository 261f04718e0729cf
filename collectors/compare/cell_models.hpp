// Models of the cells of measured runs, of which each layer may come from another run: what tells how much of
// a difference goes with it (layers.hpp). Pure.
#pragma once

#include <map>

#include "collectors/compare/measured_run.hpp"

namespace weft::compare {

/// From which run each layer of a model comes.
struct FlowParts {
  const MeasuredRun* hosts;
  const MeasuredRun* cables;
  const MeasuredRun* traffic;
  const MeasuredRun* losses;
  const MeasuredRun* paths;
  const MeasuredRun* line_rate;

  static FlowParts all_of(const MeasuredRun& run) { return {&run, &run, &run, &run, &run, &run}; }
};

/// A flow gets what it wants, times the least share that a channel of its path has for all that want to cross
/// it in its round, times what the channels on its way do not lose. What flows want, and what channels carry,
/// is in the model a share of the line rate, which scales all of it where both runs tell theirs.
std::map<Cell, double> model_flows(const FlowParts& parts);

/// From which run each part of the round trips comes.
struct TripParts {
  const MeasuredRun* hosts;
  const MeasuredRun* cables;
  const MeasuredRun* hops;
};

/// The trips of `rest` with its own rest, and the parts of those runs: what the hosts and their cables take,
/// what each further hop takes (by least squares over medians by distance), and delays of named channels.
std::map<Cell, double> model_trips(const MeasuredRun& rest, const TripParts& parts);

}  // namespace weft::compare
