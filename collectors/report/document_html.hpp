// Any document of weft as a report to look at: its parts as HTML. The verdict in one sentence, what is at
// fault with its evidence, charts of what it measured, and all the rest as tables. Pure: who writes the page
// (collectors/web/report_page) adds frame, drawing and script.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "collectors/report/document_charts.hpp"
#include "topology/base/result.hpp"
#include "topology/files/document.hpp"
#include "topology/model/fabric.hpp"

namespace weft::report {

/// Shares by row and column: of all pairs of NICs what a flow got of what it had a right to. Of many NICs
/// groups: those of one leaf, else neighbours by name.
struct PairMap {
  std::vector<std::string> names;
  struct Cell {
    std::size_t row = 0;  // sends
    std::size_t column = 0;
    double share = 0;  // the least of its flows
    std::size_t flows = 0;
  };
  std::vector<Cell> cells;
};

struct DocumentParts {
  std::string schema;    // weft.diagnosis/1
  std::string fabric;    // its name, where it has one
  std::string verdict;   // a word; empty: it has none
  std::string sentence;  // one line
  std::string findings;  // HTML: what is at fault
  std::string rest;      // HTML: charts and tables
  PairMap pairs;
  CarriedLoads loads;
  std::string made;  // by which program, when
};

/// `name` names the document in errors. Errors: invalid_input (no JSON, no document of weft, deeper or of
/// more values than a report shows). Texts of the document are escaped.
/// `fabric` (may be null) tells the rates of links: without it all are taken to be of the reference rate.
Result<DocumentParts> document_parts(std::string_view json, std::string_view name,
                                     const Fabric* fabric = nullptr);

}  // namespace weft::report
