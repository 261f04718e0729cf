// Why two fabrics differ, by layer: how much of the logarithm of the ratio B/A goes when what was measured of
// that layer in B is replaced by what was measured in A, in a model of the cell. What goes only with several
// layers together is joint; what no layer takes away is unexplained. Pure.
//
// The models. A flow gets what it wants, times the least share that a channel of its path has for all that
// want to cross it, times what the channels on its way do not lose. A round trip is a part of the hosts and
// their cables, a part of each further hop, delays of channels that the diagnosis named, and a rest. One
// under load is, besides, what it waits in queues: what it takes more than the same ways took before the
// load. Where both fabrics are known, what goes with the paths of the flows is parted: what would go if the
// flows of both were spread evenly over what the fabrics are built for is oversubscription, the rest
// collisions.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collectors/compare/comparison.hpp"
#include "collectors/compare/measured_run.hpp"

namespace weft::compare {

enum class Layer {
  hosts,       // what hosts add or hold back; of round trips with their cables, which cannot be told apart
  cables,      // what the diagnosis named: rates of cables, and delays
  traffic,     // of others: rates that are left beside it
  losses,      // of cables that the diagnosis named
  collisions,  // the paths that the flows took: what they have a right to there, of what all could have
  oversubscription,  // fewer or slower cables between switches for as many flows: no fault
  line_rate,         // what the senders' cables are built for: no fault
  hops,              // what each further hop takes
  queueing,          // what packets wait in queues under load, beyond idle
  pauses,            // how long pause frames stopped cables of hosts, where nothing else explains it
};
std::string_view to_string(Layer layer);

struct LayerShare {
  Layer layer = Layer::cables;
  double share = 0;  // of log(B/A); below 0: it works against the difference
  std::optional<std::pair<double, double>> interval = std::nullopt;  // 95 %, over blocks; absent below three
  std::vector<std::string> places = {};  // what the diagnoses named in this layer: "B: leaf1--spine2 (rate)"
};

struct Reasons {
  Cell cell;
  std::vector<LayerShare> layers;  // the largest share first
  double joint = 0;
  double unexplained = 1;
  /// What a flow of A and of B asked for (bits per second), where their load was set differently: then no
  /// layer has a share.
  std::optional<std::pair<double, double>> asked = std::nullopt;
};

/// What the runs of one side named, and in how many of them.
struct NamedPlace {
  std::string place;
  Cause cause = Cause::loss;
  bool is_host = false;
  std::size_t runs = 0;
  std::optional<double> value = std::nullopt;  // the median, as in Culprit
  std::vector<std::string> channels = {};      // of it, that at least half of the runs named
  bool is_one_of = false;                      // as in Culprit
};
/// Of at least half of the runs: what one run alone names may be its own noise. The most often named first.
std::vector<NamedPlace> named_places(std::span<const MeasuredRun> runs);

/// For each cell whose difference is proven, in the order of the comparison. Runs are taken as blocks: the
/// runs 2k-1 and 2k of both sides; as many on both. Where the load of the sides was set differently, what
/// their flows got is no fault of a layer: no share is told. That flows of one setting want different rates
/// is of the layers: they want a share of their right on a path.
std::vector<Reasons> reasons_of(std::span<const MeasuredRun> a, std::span<const MeasuredRun> b,
                                const Comparison& comparison);

/// What to do about it, a sentence.
std::string advice_of(Layer layer, char worse_side);

}  // namespace weft::compare
