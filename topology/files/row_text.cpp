#include "topology/files/row_text.hpp"

#include "topology/base/check.hpp"
#include "topology/base/text_table.hpp"
#include "topology/files/json_text.hpp"

namespace weft::files {
namespace {

std::string field_of(const RowValue& value) {
  struct Field {
    std::string operator()(std::monostate) const { return ""; }
    std::string operator()(const std::string& text) const { return text; }
    std::string operator()(double number) const { return fmt::format("{}", number); }
    std::string operator()(std::int64_t number) const { return fmt::format("{}", number); }
    std::string operator()(const std::vector<std::string>& list) const {
      return fmt::format("{}", fmt::join(list, " | "));
    }
  };
  return std::visit(Field(), value);
}

void put_value(JsonText& out, const RowValue& value) {
  if (std::holds_alternative<std::monostate>(value)) return put(out, "null");
  if (const auto* number = std::get_if<double>(&value)) return put_number(out, *number);
  if (const auto* number = std::get_if<std::int64_t>(&value)) return put(out, "{}", *number);
  if (const auto* text = std::get_if<std::string>(&value)) return put_string(out, *text);
  put_array(out, std::get<std::vector<std::string>>(value),
            [&](const std::string& item) { put_string(out, item); });
}

}  // namespace

std::string csv_text(const RowSet& set) {
  std::string text = csv_line(set.columns);
  for (const auto& row : set.rows) {
    WEFT_CHECK(row.size() == set.columns.size());
    std::vector<std::string> fields;
    for (const RowValue& value : row) fields.push_back(field_of(value));
    text += csv_line(fields);
  }
  return text;
}

std::string json_lines(const RowSet& set) {
  JsonText out;
  for (const auto& row : set.rows) {
    WEFT_CHECK(row.size() == set.columns.size());
    for (std::size_t c = 0; c < row.size(); ++c) {
      put(out, "{}\"{}\":", c == 0 ? "{" : ",", set.columns[c]);
      put_value(out, row[c]);
    }
    put(out, "}}\n");
  }
  return fmt::to_string(out);
}

}  // namespace weft::files
