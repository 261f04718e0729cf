#include "topology/base/text_table.hpp"

#include <algorithm>

#include "topology/base/check.hpp"
#include "topology/base/text.hpp"

namespace weft {
namespace {

constexpr std::size_t kGap = 2;           // between columns
constexpr std::size_t kMinLast = 20;      // narrower, wrapped() would not fit it
constexpr std::size_t kContinuation = 4;  // what goes on stands deeper by this

std::string padded(std::string_view cell, std::size_t width, bool right) {
  const std::size_t has = columns_of(cell);
  const std::string space(width > has ? width - has : 0, ' ');
  return right ? space + std::string(cell) : std::string(cell) + space;
}

std::string without_trailing_space(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace

void TextTable::add(std::vector<std::string> cells) {
  WEFT_CHECK(cells.size() == columns_.size());
  rows_.push_back(std::move(cells));
}

std::vector<std::size_t> TextTable::natural_widths() const {
  std::vector<std::size_t> widths;
  for (const TextColumn& column : columns_) widths.push_back(columns_of(column.title));
  for (const auto& row : rows_)
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], columns_of(row[c]));
  return widths;
}

std::string TextTable::text(std::size_t width, std::size_t indent) const {
  const auto widths = natural_widths();
  std::size_t before_last = indent;
  for (std::size_t c = 0; c + 1 < widths.size(); ++c) before_last += widths[c] + kGap;
  if (before_last + widths.back() <= width || before_last + kMinLast <= width)
    return aligned(widths, width, indent);
  return stacked(width, indent);
}

std::string TextTable::aligned(const std::vector<std::size_t>& widths, std::size_t width,
                               std::size_t indent) const {
  std::string lines;
  const auto put = [&](const auto& cell_of) {
    std::string line(indent, ' ');
    for (std::size_t c = 0; c + 1 < columns_.size(); ++c)
      line += padded(cell_of(c), widths[c], columns_[c].right) + std::string(kGap, ' ');
    const std::size_t last = columns_.size() - 1;
    const std::size_t at = columns_of(line);
    std::string cell(cell_of(last));
    if (columns_[last].right && at + widths[last] <= width) cell = padded(cell, widths[last], true);
    if (at + columns_of(cell) > width) cell = wrapped(cell, at, width).substr(at);
    while (cell.ends_with('\n')) cell.pop_back();
    lines += without_trailing_space(line + cell) + "\n";
  };
  put([&](std::size_t c) -> const std::string& { return columns_[c].title; });
  for (const auto& row : rows_) put([&](std::size_t c) -> const std::string& { return row[c]; });
  return lines;
}

std::string TextTable::stacked(std::size_t width, std::size_t indent) const {
  std::string lines;
  for (const auto& row : rows_) {
    std::string line(indent, ' ');
    bool is_empty = true;
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (row[c].empty()) continue;
      const auto item = columns_[c].title.empty() ? row[c] : columns_[c].title + " " + row[c];
      if (!is_empty && columns_of(line) + kGap + columns_of(item) > width) {
        lines += line + "\n";
        line = std::string(indent + kContinuation, ' ');
        is_empty = true;
      }
      if (is_empty && columns_of(line) + columns_of(item) > width) {
        const auto broken = wrapped(item, columns_of(line), width);
        line = broken.substr(0, broken.size() - 1);
        lines += line.substr(0, line.rfind('\n') + 1);
        line = line.substr(line.rfind('\n') + 1);
      } else {
        line += (is_empty ? "" : std::string(kGap, ' ')) + item;
      }
      is_empty = false;
    }
    lines += line + "\n";
  }
  return lines;
}

std::string csv_line(std::span<const std::string> cells) {
  std::string line;
  for (std::size_t c = 0; c < cells.size(); ++c) {
    const std::string& cell = cells[c];
    if (c > 0) line += ',';
    if (cell.find_first_of(",\"\r\n") == std::string::npos) {
      line += cell;
      continue;
    }
    line += '"';
    for (const char each : cell) line += each == '"' ? std::string("\"\"") : std::string(1, each);
    line += '"';
  }
  return line + "\n";
}

}  // namespace weft
