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
  const MeasuredRun* pauses;  // null: not both runs tell how long they last, and they have no part

  static FlowParts all_of(const MeasuredRun& run) { return {&run, &run, &run, &run, &run, &run, &run}; }
};

/// A flow gets what it wants, times the least share that a channel of its path has for all that want to cross
/// it in its round, times what the channels on its way do not lose. What flows want, and what channels carry,
/// is in the model a share of the line rate, which scales all of it where both runs tell theirs. Pauses take
/// what flows lack besides, as far as the time explains it for which the cables of their hosts stood: they
/// hand on what is slow elsewhere.
std::map<Cell, double> model_flows(const FlowParts& parts);

/// From which run each part of the round trips comes.
struct TripParts {
  const MeasuredRun* hosts;
  const MeasuredRun* cables;
  const MeasuredRun* hops;
  const MeasuredRun* queues;  // of round trips under load

  static TripParts all_of(const MeasuredRun& run) { return {&run, &run, &run, &run}; }
};

/// The trips of `rest` with its own rest, and the parts of those runs: what the hosts and their cables take,
/// what each further hop takes (by least squares over medians by distance), and delays of named channels.
std::map<Cell, double> model_trips(const MeasuredRun& rest, const TripParts& parts);

/// The round trips under load of `rest`: its idle ones, with the parts of those runs as above, and what flows
/// of that distance wait in queues in the mean, beyond idle.
std::map<Cell, double> model_loaded(const MeasuredRun& rest, const TripParts& parts);

/// What of the probes of `rest` arrives (probe_cells.hpp), where named channels lose what `losses` named.
std::map<Cell, double> model_probes(const MeasuredRun& rest, const MeasuredRun& losses);

}  // namespace weft::compare
