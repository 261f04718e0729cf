// Predicting labels where the switches' hashes are linear over GF(2) (CRC, XOR: most switch ASICs; not the
// Linux kernel's siphash). There, labels whose bits differ by the same pattern change paths alike (RePaC,
// USENIX ATC 2021): if two labels take one path, XOR-ing their difference into any label leaves its path as
// it is. So a few probed labels tell the paths of all others. Whether that holds is tried on the probed
// labels themselves; for a pair where it does not, or too few labels are known to tell, nothing is predicted.
#pragma once

#include <cstddef>
#include <cstdint>

#include "topology/model/path.hpp"

namespace weft::assign {

struct LabelRange {
  PathLabel first;                 // inclusive
  PathLabel last;                  // inclusive
  std::size_t most_per_path = 16;  // labels listed for one path, those probed included
};

struct Predicted {
  PathMap map;                   // all that was known, and what was predicted
  std::size_t pairs_linear = 0;  // pairs whose labels were predicted
  std::size_t labels_added = 0;
};

/// A pair counts as linear when every label that the ones before it foretell takes the path foretold, and
/// that could have been chance with a probability below 2^-20.
Predicted predict_labels(const PathMap& known, const LabelRange& range);

}  // namespace weft::assign
