// Rows for people and rows for programs. A table for people is as wide as its cells where they fit, then its
// last column goes on in further lines, then every row is written as titles and values: nothing is cut.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace weft {

struct TextColumn {
  std::string title;
  bool right = false;  // numbers
};

class TextTable {
 public:
  explicit TextTable(std::vector<TextColumn> columns) : columns_(std::move(columns)) {}

  /// As many cells as columns; an empty one says nothing.
  void add(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }

  /// No line is wider than `width`; each stands after `indent` spaces.
  std::string text(std::size_t width, std::size_t indent = 0) const;

 private:
  std::vector<std::size_t> natural_widths() const;
  std::string aligned(const std::vector<std::size_t>& widths, std::size_t width, std::size_t indent) const;
  std::string stacked(std::size_t width, std::size_t indent) const;

  std::vector<TextColumn> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// One line of CSV, quoted by RFC 4180; it ends with a line feed alone.
std::string csv_line(std::span<const std::string> cells);

}  // namespace weft
