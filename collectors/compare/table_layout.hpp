// Tables of nccl-tests, perftest and the OSU micro-benchmarks by their header lines: which column is what, in
// which unit. A layout is a value; rows are read by it (recorded_run.hpp).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectors/compare/run.hpp"
#include "topology/base/result.hpp"

namespace weft::compare {

enum class Tool { nccl_tests, perftest, osu };
std::string_view to_string(Tool tool);

/// The first column is the size.
struct TableLayout {
  /// A column that says what was done: its text is a word of the cell.
  struct Factor {
    std::size_t at = 0;
    std::string prefix;  // "root "
    std::string usual;   // the text that says nothing: "none", "-1"
  };
  struct Measured {
    std::size_t at = 0;
    Metric metric = Metric::time;
    double unit = 1;                         // of the column, in that of the metric
    std::vector<std::string> words;          // "in-place"
    std::optional<std::size_t> errors = {};  // the column that counts wrong results of it
  };
  Tool tool = Tool::nccl_tests;
  std::size_t columns = 0;  // words in a row
  std::vector<Factor> factors;
  std::vector<Measured> values;
  /// A column that rows may leave blank, so that they have one word less; it never holds a number, and the
  /// one behind it always does.
  std::optional<std::size_t> may_be_blank = {};
};

using Words = std::vector<std::string_view>;

/// Split at blanks.
Words words_of(std::string_view line);

/// The row with the text that says nothing in place of a blank.
Words without_blank(const TableLayout& layout, Words row);

/// Absent: the line is no header. Error: one whose columns are not known.
std::optional<Result<TableLayout>> table_header(const Words& line);

/// What a line can tell of the tables that follow; in the order in which a cell names its settings.
enum class Topic {
  title,  // the name of the work: another job begins
  ranks,  // one rank more
  graph,  // stands before the ranks
  buffers,
  datatype,
  qps,
  connection,
  mtu,  // fabrics may differ in it: no setting of the work
};

/// What a line outside of a table says of the tables that follow.
struct Announcement {
  Tool tool = Tool::nccl_tests;
  Topic topic = Topic::title;
  std::string text;  // empty: the usual setting, of which nothing is said
};
std::optional<Announcement> announced_in(std::string_view line, const Words& words);

}  // namespace weft::compare
