// A recorded run, read piece by piece: the text that nccl-tests, perftest or the OSU micro-benchmarks
// printed, with other lines before, between and after. Memory is bounded whatever the size of the text: a
// reader holds 2,000,000 values and 20,000 cells at most, a run one value a cell. A text that begins with a
// brace is a JSON document (recorded_json.hpp), of which it holds 64 MiB.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "collectors/compare/table_layout.hpp"

namespace weft::compare {

/// Of the rows of a cell; of an even number the geometric mean of the two in the middle, with the coarsest
/// grain. Precondition: not empty.
Value median_of(std::vector<Value> values);

class RecordedRunReader {
 public:
  /// `name` names the run in reports and errors.
  explicit RecordedRunReader(std::string name) { run_.name = std::move(name); }

  /// The next bytes of the text. Error (invalid_input, with the line's number): columns that do not match
  /// their header, outputs of two jobs in one another, or more than a run has.
  Result<void> take(std::string_view piece);

  /// After the last piece. Error: there is no value in it.
  Result<Run> finish() &&;

 private:
  /// What a job says of itself before its tables.
  struct Job {
    std::string title;
    std::size_t ranks = 0;
    std::map<Topic, std::string> settings;
  };
  /// Lines of which the same is said.
  struct Remark {
    std::string text;
    std::size_t first = 0;
    std::size_t last = 0;
    std::size_t lines = 1;
  };

  Result<void> take_line(std::string_view line);
  Result<void> take_row(const Words& words);
  Result<void> take_value(const TableLayout::Measured& column, const Words& words);
  Result<void> begin_table(TableLayout layout);
  void take_footer(const Words& words);
  void end_table();
  void announce(Announcement announcement);
  Cell cell_of(const TableLayout::Measured& column, const Words& words) const;
  void remark(std::size_t line, std::string text);

  enum class Form { tables, json };

  Run run_;
  std::optional<Form> form_;  // as its first character says
  std::string document_;      // JSON, whole
  std::string rest_;          // of a line whose end has not come
  std::size_t line_ = 0;
  std::map<Cell, std::vector<Value>> values_;
  std::size_t count_ = 0;  // of values
  std::vector<Remark> remarks_;
  std::size_t remarks_left_out_ = 0;
  std::map<Tool, Job> jobs_;  // of the tables to come
  // Of the table that is being read.
  std::optional<TableLayout> layout_;
  std::map<Cell, std::vector<Value>> table_;
  std::vector<std::string> work_;  // the first words of its cells
  Bytes size_;                     // of the last row
  std::size_t rows_ = 0;
  std::size_t last_row_ = 0;              // its line; before the first that of the header
  std::optional<std::size_t> short_row_;  // its line: the table is cut there, or its columns do not match
  bool has_footer_ = false;
};

}  // namespace weft::compare
