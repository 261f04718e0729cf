// Labels that a path map foretells beside those that were traced: for a load balancer, which wants one of its
// own choice on each path. Of each pair the choice among its paths is learned as one hash (hash_learner),
// which needs neither addresses nor the switches' ways and holds where their hashes are linear alike; where
// it is not, or too few labels are known to tell, nothing is foretold. Pure.
#pragma once

#include <cstddef>

#include "topology/model/path.hpp"

namespace weft::plan {

struct LabelRange {
  PathLabel first;                 // inclusive
  PathLabel last;                  // inclusive
  std::size_t most_per_path = 16;  // labels listed for one path, those traced included
};

struct PredictedLabels {
  PathMap map;                   // all that was known, and what is predicted
  std::size_t pairs_linear = 0;  // pairs whose labels were predicted
  std::size_t labels_added = 0;
};

/// A pair is predicted where a choice without structure had fitted with a probability below 2^-20, and fresh
/// labels went as foretold (HashLearner).
PredictedLabels predict_labels(const PathMap& known, const LabelRange& range);

}  // namespace weft::plan
