#include "collectors/compare/recorded_run.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "collectors/compare/recorded_json.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/base/whole_number.hpp"

namespace weft::compare {
namespace {

constexpr std::size_t kMaxLine = 65'536;       // logs of libraries have long lines; rows have 200 bytes
constexpr std::size_t kMaxValues = 2'000'000;  // of a run; 16 bytes each
constexpr std::size_t kMaxCells = 20'000;
constexpr std::size_t kMaxRemarks = 20;
constexpr std::size_t kMaxWord = 40;  // of a cell
constexpr std::uint64_t kMaxSize = std::uint64_t{1} << 60;

/// One that no double holds (1e999, 1e-999) is infinite: it has no ratio either.
std::optional<double> number_of(std::string_view word) {
  double number = std::numeric_limits<double>::infinity();
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  const bool is_number = error == std::errc{} || error == std::errc::result_out_of_range;
  return is_number && end == word.data() + word.size() ? std::optional(number) : std::nullopt;
}

std::optional<Bytes> size_of(std::string_view word) {
  const auto size = parse_whole_number<std::uint64_t>(word);
  return size && *size <= kMaxSize ? std::optional(Bytes(static_cast<std::int64_t>(*size))) : std::nullopt;
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

bool is_row(const Words& words) { return words.size() > 1 && size_of(words[0]) && number_of(words[1]); }

/// A header that does not begin its line.
bool has_prefixed_header(std::string_view line) {
  const auto at = line.find('#');
  if (at == 0 || at == std::string_view::npos) return false;
  const auto header = table_header(words_of(line.substr(at)));
  return header && header->has_value();
}

}  // namespace

Value median_of(std::vector<Value> values) {
  std::ranges::sort(values, {}, &Value::number);
  const double low = values[(values.size() - 1) / 2].number;
  const double high = values[values.size() / 2].number;
  const double grain = std::ranges::max(values, {}, &Value::grain).grain;
  return {low == high ? low : std::sqrt(low) * std::sqrt(high), grain};
}

Result<void> RecordedRunReader::take(std::string_view piece) {
  if (const auto first = piece.find_first_not_of(" \t\r\n"); !form_ && first != std::string_view::npos)
    form_ = piece[first] == '{' ? Form::json : Form::tables;
  if (form_ == Form::json) {
    if (document_.size() + piece.size() > kMaxDocument)
      return fail(ErrorKind::invalid_input, "{}: a document of more than {} bytes", run_.name, kMaxDocument);
    document_.append(piece);
    return {};
  }
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
  if (form_ == Form::json) return read_recorded_json(std::move(run_.name), document_);
  // A row without its line end may lack the last digits of its last number.
  if (const auto words = words_of(rest_); layout_ && !words.empty() && size_of(words[0]) && !short_row_)
    short_row_ = line_ + 1;
  end_table();
  for (const Remark& remark : remarks_)
    run_.remarks.push_back(remark.lines == 1 ? fmt::format("line {}: {}", remark.first, remark.text)
                                             : fmt::format("line {} and {} more: {}", remark.first,
                                                           remark.lines - 1, remark.text));
  if (remarks_left_out_ > 0) run_.remarks.push_back(fmt::format("and {} remarks more", remarks_left_out_));
  if (values_.empty())
    return fail(ErrorKind::invalid_input,
                "{}: no results: expected a table of nccl-tests, perftest or OSU{}{}", run_.name,
                run_.remarks.empty() ? "" : "; ", fmt::join(run_.remarks, "; "));
  for (auto& [cell, values] : values_) run_.cells[cell] = median_of(std::move(values));
  return std::move(run_);
}

Result<void> RecordedRunReader::take_line(std::string_view line) {
  const Words words = words_of(line);
  if (words.empty()) return {};
  if (auto header = table_header(words)) {
    if (!*header) return pass_on(*header, fmt::format("{}: line {}", run_.name, line_));
    return begin_table(**std::move(header));
  }
  if (is_row(words)) return take_row(layout_ ? without_blank(*layout_, words) : words);
  if (line.starts_with("# Out of bounds values")) {
    take_footer(words);
  } else if (auto announcement = announced_in(line, words)) {
    announce(*std::move(announcement));
  } else if (has_prefixed_header(line)) {
    remark(line_, "lines have a prefix (srun -l, mpirun --tag-output): remove it");
  } else if (layout_ && size_of(words[0]) && words.size() == layout_->columns && '0' <= words[1][0] &&
             words[1][0] <= '9') {
    remark(line_, fmt::format("'{}' is no number: the row does not count", shown(words[1])));
  } else if (layout_ && layout_->tool != Tool::nccl_tests &&
             (words[0].starts_with('#') || words[0].starts_with("-----"))) {
    end_table();  // they have no footer but the line below the tables of perftest
  }
  return {};
}

void RecordedRunReader::announce(Announcement announcement) {
  if (announcement.topic == Topic::mtu) {
    run_.mtus.insert(std::move(announcement.text));
    return;
  }
  Job& job = jobs_[announcement.tool];
  switch (announcement.topic) {
    case Topic::title:
      // The command line of nccl-tests may come late, by another stream.
      if (layout_ && (layout_->tool != Tool::nccl_tests || announcement.tool != Tool::nccl_tests))
        end_table();
      if (announcement.tool != Tool::nccl_tests) job = {};
      job.title = std::move(announcement.text);
      return;
    case Topic::ranks:
      job.settings[Topic::ranks] = fmt::format("{} ranks", ++job.ranks);
      return;
    case Topic::graph:  // settings of nccl-tests begin
      job.ranks = 0;
      job.settings.clear();
      break;
    default:
      break;
  }
  job.settings[announcement.topic] = std::move(announcement.text);
}

Result<void> RecordedRunReader::begin_table(TableLayout layout) {
  if (layout_ && layout_->tool == Tool::nccl_tests && rows_ == 0 && !short_row_)
    return fail(
        ErrorKind::invalid_input,
        "{}: line {}: a second header before the first table has rows: outputs of two jobs are mixed, "
        "or the first died",
        run_.name, line_);
  end_table();
  layout_ = std::move(layout);
  last_row_ = line_;
  const Job& job = jobs_[layout_->tool];
  work_ = {job.title.empty() ? std::string(to_string(layout_->tool)) : job.title};
  for (const auto& [topic, text] : job.settings)
    if (!text.empty()) work_.push_back(text);
  if (layout_->tool == Tool::nccl_tests && job.title.empty())
    remark(line_, "the table does not name its collective: put the command line before it");
  return {};
}

void RecordedRunReader::take_footer(const Words& words) {
  // "# Out of bounds values : 0 OK"
  if (!layout_ || layout_->tool != Tool::nccl_tests) {
    remark(line_, "the end of a table that did not begin: outputs of two jobs may be mixed");
    return;
  }
  has_footer_ = true;
  if (words.size() > 6 && words[6] != "0" && words[6] != "OK" &&
      std::ranges::none_of(layout_->values, [](const auto& value) { return value.errors.has_value(); })) {
    remark(line_, fmt::format("{} wrong results: the table does not count", shown(words[6])));
    run_.wrong_rows += rows_;
    table_.clear();
  }
  end_table();
  jobs_[Tool::nccl_tests] = {};
}

void RecordedRunReader::end_table() {
  if (!layout_) return;
  const bool is_empty = rows_ == 0 && layout_->tool != Tool::perftest;  // a server of perftest has no rows
  run_.empty_tables += is_empty;
  if (is_empty)
    remark(last_row_, "a table without rows: did its job end early?");
  else if (short_row_)
    remark(*short_row_, fmt::format("the table is cut: {} rows before it are whole", rows_));
  else if (layout_->tool == Tool::nccl_tests && !has_footer_)
    remark(last_row_, fmt::format("the table is cut after it: its {} rows are whole", rows_));
  for (auto& [cell, values] : table_) {
    auto& all = values_[cell];
    all.insert(all.end(), values.begin(), values.end());
  }
  table_.clear();
  layout_.reset();
  short_row_.reset();
  has_footer_ = false;
  rows_ = 0;
  size_ = {};
}

Result<void> RecordedRunReader::take_row(const Words& words) {
  const Bytes size = *size_of(words[0]);
  if (layout_ && layout_->tool != Tool::nccl_tests && size < size_) {
    remark(line_, "a size below the last one: the table ends before it");
    end_table();
  }
  if (!layout_) {
    remark(line_, "numbers that belong to no table");
    return {};
  }
  if (short_row_ || words.size() > layout_->columns)
    return fail(ErrorKind::invalid_input, "{}: line {}: the columns do not match the header: expected {}",
                run_.name, short_row_.value_or(line_), layout_->columns);
  if (words.size() < layout_->columns) {
    short_row_ = line_;
    return {};
  }
  ++rows_;
  last_row_ = line_;
  size_ = size;
  bool wrong = false;
  for (const auto& column : layout_->values) {
    if (column.errors && !is_right(words[*column.errors]))
      wrong = true;
    else
      WEFT_TRY_VOID(take_value(column, words));
  }
  if (!wrong) return {};
  ++run_.wrong_rows;
  remark(line_, "wrong results: they do not count");
  return {};
}

Result<void> RecordedRunReader::take_value(const TableLayout::Measured& column, const Words& words) {
  const std::string_view word = words[column.at];
  if (word == "N/A") return {};
  const auto number = number_of(word);
  if (!number)
    return fail(ErrorKind::invalid_input, "{}: line {}: '{}' is no number", run_.name, line_, shown(word));
  if (!is_comparable(*number * column.unit)) {
    remark(line_, fmt::format("{} has no ratio to anything: the row does not count", shown(word)));
    return {};
  }
  if (++count_ > kMaxValues)
    return fail(ErrorKind::invalid_input, "{}: line {}: more than {} values", run_.name, line_, kMaxValues);
  const Cell cell = cell_of(column, words);
  if (table_.size() + values_.size() >= kMaxCells && !table_.contains(cell))
    return fail(ErrorKind::invalid_input, "{}: line {}: more than {} sizes and settings", run_.name, line_,
                kMaxCells);
  table_[cell].push_back({*number * column.unit, last_digit(word) / *number});
  return {};
}

Cell RecordedRunReader::cell_of(const TableLayout::Measured& column, const Words& words) const {
  Cell cell{.work = work_, .size = size_, .metric = column.metric};
  for (const auto& factor : layout_->factors)
    if (words[factor.at] != factor.usual) cell.work.push_back(factor.prefix + shown(words[factor.at]));
  cell.work.insert(cell.work.end(), column.words.begin(), column.words.end());
  return cell;
}

void RecordedRunReader::remark(std::size_t line, std::string text) {
  const auto same = std::ranges::find(remarks_, text, &Remark::text);
  if (same != remarks_.end()) {
    same->lines += same->last != line;
    same->last = line;
  } else if (remarks_.size() < kMaxRemarks) {
    remarks_.push_back({.text = std::move(text), .first = line, .last = line});
  } else {
    ++remarks_left_out_;
  }
}

}  // namespace weft::compare
