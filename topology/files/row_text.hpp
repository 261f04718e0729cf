// Rows for programs, one a line: CSV or JSON Lines with the same columns in the same order, every column in
// every row.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace weft::files {

/// Nothing: an empty field, null. A list: its items with " | " between them, an array.
using RowValue = std::variant<std::monostate, std::string, double, std::int64_t, std::vector<std::string>>;

struct RowSet {
  std::vector<std::string> columns;
  std::vector<std::vector<RowValue>> rows;  // each as long as `columns`
};

/// A line with the columns' names, then a line a row, quoted by RFC 4180; lines end with a line feed.
std::string csv_text(const RowSet& set);
std::string json_lines(const RowSet& set);

}  // namespace weft::files
