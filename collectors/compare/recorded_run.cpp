#include "collectors/compare/recorded_run.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "topology/base/outside_text.hpp"

namespace weft::compare {
namespace {

constexpr std::size_t kMaxLine = 65'536;       // logs of libraries have long lines; rows have 200 bytes
constexpr std::size_t kMaxValues = 2'000'000;  // of a run; 16 bytes each
constexpr std::size_t kMaxCells = 20'000;
constexpr std::size_t kMaxRemarks = 20;
constexpr std::size_t kMaxWord = 40;  // of a cell
constexpr std::int64_t kMaxSize = std::int64_t{1} << 60;

std::optional<double> number_of(std::string_view word) {
  double number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  return error == std::errc{} && end == word.data() + word.size() ? std::optional(number) : std::nullopt;
}

std::optional<Bytes> size_of(std::string_view word) {
  std::int64_t size = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), size);
  const bool whole = error == std::errc{} && end == word.data() + word.size();
  return whole && size >= 0 && size <= kMaxSize ? std::optional(Bytes(size)) : std::nullopt;
}

/// One unit of the last digit of a number as it is written: .01 of 12.34, 1000 of 1.2e4.
double last_digit(std::string_view word) {
  const auto mantissa = word.substr(0, word.find_first_of("eE"));
  const auto point = mantissa.find('.');
  int power = point == std::string_view::npos ? 0 : -static_cast<int>(mantissa.size() - point - 1);
  if (mantissa.size() < word.size()) {
    auto exponent = word.substr(mantissa.size() + 1);
    if (exponent.starts_with('+')) exponent.remove_prefix(1);
    int more = 0;
    std::from_chars(exponent.data(), exponent.data() + exponent.size(), more);
    power += more;
  }
  return std::pow(10.0, power);
}

/// What a column of wrong results says of a row that is right; N/A: it was not looked at.
bool is_right(std::string_view errors) { return errors == "0" || errors == "Pass" || errors == "N/A"; }

std::string shown(std::string_view word) { return outside_text(word.substr(0, kMaxWord)); }

}  // namespace

Result<void> RecordedRunReader::take(std::string_view piece) {
  while (!piece.empty()) {
    const auto end = piece.find('\n');
    const auto part = piece.substr(0, end);
    if (rest_.size() + part.size() > kMaxLine)
      return fail(ErrorKind::invalid_input, "{}: line {} is longer than {} bytes", run_.name, line_ + 1,
                  kMaxLine);
    if (end == std::string_view::npos) {
      rest_.append(part);
      return {};
    }
    piece.remove_prefix(end + 1);
    ++line_;
    if (rest_.empty()) {
      WEFT_TRY_VOID(take_line(part));
      continue;
    }
    rest_.append(part);
    WEFT_TRY_VOID(take_line(rest_));
    rest_.clear();
  }
  return {};
}

Result<Run> RecordedRunReader::finish() && {
  // A row without its line end may lack the last digits of its last number.
  if (const auto words = words_of(rest_); layout_ && !words.empty() && size_of(words[0]) && !short_row_)
    short_row_ = line_ + 1;
  end_table();
  if (remarks_left_out_ > 0) run_.remarks.push_back(fmt::format("and {} remarks more", remarks_left_out_));
  if (run_.cells.empty())
    return fail(ErrorKind::invalid_input,
                "{}: no results: expected a table of nccl-tests, perftest or OSU{}{}", run_.name,
                run_.remarks.empty() ? "" : "; ", run_.remarks.empty() ? "" : run_.remarks.front());
  return std::move(run_);
}

Result<void> RecordedRunReader::take_line(std::string_view line) {
  const Words words = words_of(line);
  if (words.empty()) return {};
  if (auto header = table_header(words)) {
    if (!*header) return pass_on(*header, fmt::format("{}: line {}", run_.name, line_));
    begin_table(**std::move(header));
    return {};
  }
  if (layout_ && words.size() > 1 && size_of(words[0]) && number_of(words[1])) return take_row(words);
  if (layout_ && layout_->tool == Tool::nccl_tests && line.starts_with("# Out of bounds values")) {
    // "# Out of bounds values : 0 OK"
    has_footer_ = true;
    if (words.size() > 6 && words[6] != "0" && words[6] != "OK" &&
        std::ranges::none_of(layout_->values, [](const auto& value) { return value.errors.has_value(); })) {
      remark(fmt::format("line {}: {} wrong results: the table does not count", line_, shown(words[6])));
      table_.clear();
    }
    end_table();
    title_ = {};
    return {};
  }
  if (auto announcement = announced_in(line, words)) announce(*std::move(announcement));
  return {};
}

void RecordedRunReader::announce(Announcement announcement) {
  if (!announcement.is_title) {
    setting_ = std::move(announcement);
    return;
  }
  if (layout_ && announcement.tool != Tool::nccl_tests) end_table();
  title_ = std::move(announcement);
  setting_ = {};
}

void RecordedRunReader::begin_table(TableLayout layout) {
  end_table();
  layout_ = std::move(layout);
  const bool has_title = title_.is_title && title_.tool == layout_->tool;
  work_ = {has_title ? title_.text : std::string(to_string(layout_->tool))};
  if (!setting_.text.empty() && setting_.tool == layout_->tool) work_.push_back(setting_.text);
}

void RecordedRunReader::end_table() {
  if (!layout_) return;
  if (short_row_)
    remark(fmt::format("the table is cut at line {}: {} rows before it are whole", *short_row_, rows_));
  else if (layout_->tool == Tool::nccl_tests && !has_footer_)
    remark(fmt::format("the table is cut after line {}: its {} rows are whole", last_row_, rows_));
  for (auto& [cell, values] : table_) {
    auto& all = run_.cells[cell];
    all.insert(all.end(), values.begin(), values.end());
  }
  table_.clear();
  layout_.reset();
  short_row_.reset();
  has_footer_ = false;
  rows_ = 0;
}

Result<void> RecordedRunReader::take_row(const Words& words) {
  if (short_row_ || words.size() > layout_->columns)
    return fail(ErrorKind::invalid_input, "{}: line {}: the columns do not match the header: expected {}",
                run_.name, short_row_.value_or(line_), layout_->columns);
  if (words.size() < layout_->columns) {
    short_row_ = line_;
    return {};
  }
  ++rows_;
  last_row_ = line_;
  const auto size = size_of(words[layout_->size]);
  if (!size)
    return fail(ErrorKind::invalid_input, "{}: line {}: '{}' is no size", run_.name, line_,
                shown(words[layout_->size]));
  for (const auto& column : layout_->values) WEFT_TRY_VOID(take_value(column, words, *size));
  return {};
}

Result<void> RecordedRunReader::take_value(const TableLayout::Measured& column, const Words& words,
                                           Bytes size) {
  const std::string_view word = words[column.at];
  if (word == "N/A") return {};
  const auto number = number_of(word);
  if (!number)
    return fail(ErrorKind::invalid_input, "{}: line {}: '{}' is no number", run_.name, line_, shown(word));
  if (column.errors && !is_right(words[*column.errors])) {
    remark(fmt::format("line {}: {} wrong results: the row does not count", line_,
                       shown(words[*column.errors])));
    return {};
  }
  if (!is_comparable(*number * column.unit)) {
    remark(fmt::format("line {}: {} has no ratio to anything: the row does not count", line_, shown(word)));
    return {};
  }
  if (++values_ > kMaxValues)
    return fail(ErrorKind::invalid_input, "{}: line {}: more than {} values", run_.name, line_, kMaxValues);
  const Cell cell = cell_of(column, words, size);
  if (table_.size() + run_.cells.size() >= kMaxCells && !table_.contains(cell))
    return fail(ErrorKind::invalid_input, "{}: line {}: more than {} sizes and settings", run_.name, line_,
                kMaxCells);
  table_[cell].push_back({*number * column.unit, last_digit(word) / *number});
  return {};
}

Cell RecordedRunReader::cell_of(const TableLayout::Measured& column, const Words& words, Bytes size) const {
  Cell cell{.work = work_, .size = size, .metric = column.metric};
  for (const auto& factor : layout_->factors)
    if (words[factor.at] != factor.usual) cell.work.push_back(factor.prefix + shown(words[factor.at]));
  cell.work.insert(cell.work.end(), column.words.begin(), column.words.end());
  return cell;
}

void RecordedRunReader::remark(std::string text) {
  if (run_.remarks.size() < kMaxRemarks)
    run_.remarks.push_back(std::move(text));
  else
    ++remarks_left_out_;
}

}  // namespace weft::compare
