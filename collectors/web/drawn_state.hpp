// What documents hold against the channels of a fabric, as the script of a report draws it: a letter a
// channel (state_json.hpp), and findings. Pure.
#pragma once

#include <string>
#include <vector>

#include "collectors/compare/layers.hpp"
#include "collectors/compare/measured_fabric.hpp"
#include "collectors/report/document_charts.hpp"
#include "topology/files/diagnosis_document.hpp"
#include "topology/model/fabric.hpp"

namespace weft::web {

/// What the document does not vouch for is not healthy in it: no run covered it, or nobody knows.
std::string diagnosis_state(const Fabric& fabric, const files::DiagnosisDocument& document);

/// Of an assignment or an audit, which say nothing of health: what carries flows or queue pairs, and what
/// more than it should. The script takes the words for letters from the state.
std::string carried_state(const Fabric& fabric, const report::CarriedLoads& loads);

/// Of one side of a comparison: what its packets crossed is healthy, but for what its runs named or do not
/// know, where more wanted to cross than a channel carries, and where packets waited. `runs`: of the side.
struct ComparedState {
  std::string json;
  std::size_t elsewhere = 0;  // places that slow the side, and that this fabric does not have whole
};
ComparedState compared_state(const Fabric& fabric, const compare::MeasuredFabric& measured,
                             const std::vector<compare::NamedPlace>& named, std::size_t runs);

}  // namespace weft::web
