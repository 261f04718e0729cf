#include "collectors/report/json_html.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "topology/base/outside_text.hpp"
#include "topology/base/xml_text.hpp"

namespace weft::report {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxRows = 500;
constexpr std::size_t kMaxColumns = 20;
constexpr std::size_t kMaxItems = 100;  // of a list in one cell
constexpr std::size_t kMaxText = 400;   // characters of a value within a value
constexpr int kMaxLevel = 6;            // the deepest document of weft has four
constexpr std::size_t kMaxTables = 200;

bool is_plain(const json& value) { return !value.is_structured(); }

bool is_table(const json& value) {
  return value.is_array() && !value.empty() && std::ranges::all_of(value, &json::is_object);
}

std::string escaped(std::string_view text) { return xml_escaped(outside_text(text)); }

/// snake_case as words.
std::string title(std::string_view key) {
  std::string text(key);
  std::ranges::replace(text, '_', ' ');
  return escaped(text);
}

std::string plain_text(const json& value) {
  if (value.is_string()) return escaped(value.get_ref<const std::string&>());
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_number_float()) return fmt::format("{:.6g}", value.get<double>());
  return value.is_null() ? "" : escaped(value.dump());
}

/// What stands in one cell; what is too long for it is cut.
std::string cell_text(const json& value, int level = 0) {
  if (is_plain(value)) return plain_text(value);
  if (value.empty()) return "";
  if (level > 2) return "...";
  std::string text;
  std::size_t count = 0;
  for (const auto& [key, item] : value.items()) {
    if (count++ == kMaxItems || text.size() > kMaxText) {
      text += fmt::format(" (and {} more)", value.size() - count + 1);
      break;
    }
    if (!text.empty()) text += ", ";
    if (value.is_object()) text += title(key) + " ";
    text += is_plain(item) ? plain_text(item) : "(" + cell_text(item, level + 1) + ")";
  }
  return text;
}

class Tables {
 public:
  void put_object(const json& object, int level) {
    std::string rows;
    std::vector<std::pair<std::string, const json*>> below;
    for (const auto& [key, value] : object.items()) {
      if (value.is_structured() && value.empty()) continue;
      if (is_table(value) || value.is_object())
        below.emplace_back(key, &value);
      else
        rows += fmt::format("<tr><th>{}</th><td>{}</td></tr>\n", title(key), cell_text(value));
    }
    if (!rows.empty()) out += "<table>\n" + rows + "</table>\n";
    for (const auto& [key, value] : below) put_member(key, *value, level);
  }

  std::string out;

 private:
  void put_member(const std::string& key, const json& value, int level) {
    if (++tables_ > kMaxTables || level > kMaxLevel) {
      out += fmt::format("<p>{}: {} values, which the document has.</p>\n", title(key), value.size());
      return;
    }
    out += fmt::format("<details{}><summary>{}{}</summary><div class=\"wide\">\n", level == 0 ? " open" : "",
                       title(key), value.is_array() ? fmt::format(" ({})", value.size()) : "");
    if (value.is_array())
      put_table(value);
    else
      put_object(value, level + 1);
    out += "</div></details>\n";
  }

  void put_table(const json& rows) {
    const std::size_t shown = std::min(rows.size(), kMaxRows);
    std::vector<std::string> columns;
    for (std::size_t i = 0; i < shown; ++i)
      for (const auto& [key, value] : rows[i].items())
        if (columns.size() < kMaxColumns && std::ranges::find(columns, key) == columns.end())
          columns.push_back(key);
    out += "<table><tr>";
    for (const std::string& column : columns) out += fmt::format("<th>{}</th>", title(column));
    out += "</tr>\n";
    for (std::size_t i = 0; i < shown; ++i) {
      out += "<tr>";
      for (const std::string& column : columns) {
        const auto at = rows[i].find(column);
        if (at == rows[i].end())
          out += "<td></td>";
        else
          out += fmt::format("<td{}>{}</td>", at->is_number() ? " class=\"n\"" : "", cell_text(*at));
      }
      out += "</tr>\n";
    }
    out += "</table>\n";
    if (rows.size() > shown)
      out += fmt::format("<p>The first {} of {}: the document has all.</p>\n", shown, rows.size());
  }

  std::size_t tables_ = 0;
};

}  // namespace

std::string json_html(const json& object) {
  if (!object.is_object() || object.empty()) return "";
  Tables tables;
  tables.out = "<h2>The document</h2>\n";
  tables.put_object(object, 0);
  return std::move(tables.out);
}

}  // namespace weft::report
