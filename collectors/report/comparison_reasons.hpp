// Why two fabrics differ, in words: layers with their shares, and what the diagnoses named on each side.
#pragma once

#include <string>
#include <utility>

#include "collectors/report/comparison_report.hpp"

namespace weft::report {

/// Behind the verdict's sentence: "; mostly by cables, B: leaf1--spine2 (rate)" where a layer has half of the
/// greatest difference and its interval is above zero; else what was named in the worse side alone, if
/// anything.
std::string main_reason(const compare::Comparison& comparison, const ComparedFabrics& fabrics);

/// Of each cell that differs its layers, of each side what was named, and what to do. Of runs with fabrics.
std::string reasons_text(const ComparedRuns& runs, std::size_t columns);

/// What stands beside the layers, a sentence each: who is slow on each side, what NICs counted of congestion,
/// what cannot be told.
std::vector<std::string> beside_layers(const ComparedFabrics& fabrics);

/// "92 % (85 to 99)".
std::string share_text(const compare::LayerShare& share);
/// "leaf1--spine2 (rate, 48 % left)", with the runs that named it.
std::string place_text(const compare::NamedPlace& place, std::size_t runs);
/// What the flows of A and of B asked for (bits per second), where it is not the same.
std::string asked_text(std::pair<double, double> asked);
/// The layer that most of a cell's difference goes to; none where no interval tells it from nothing.
const compare::LayerShare* main_layer(const compare::Reasons& reasons);

}  // namespace weft::report
