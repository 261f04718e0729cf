// Cables of NetBox: its CSV export (columns by their heads, of versions 3 and 4), and its REST API's answer.
#include <algorithm>

#include "topology/base/json_limits.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/files/cable_records.hpp"
#include "topology/files/json_view.hpp"

namespace weft::files {
namespace {

constexpr JsonLimits kLimits{.bytes = 256'000'000, .depth = 16, .values = 16'000'000};
constexpr std::size_t kMaxRows = 2'000'000;
/// Four times what 3,072 hosts of 8 NICs and their switches have.
constexpr std::size_t kMaxCables = 300'000;

/// The next row of a CSV text (RFC 4180); advances `text`. A quote that never ends takes the rest.
std::vector<std::string> next_row(std::string_view& text) {
  std::vector<std::string> cells{""};
  bool quoted = false;
  std::size_t i = 0;
  for (; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"' && quoted && i + 1 < text.size() && text[i + 1] == '"')
      cells.back() += text[++i];
    else if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      cells.emplace_back();
    else if (c == '\n' && !quoted)
      break;
    else if (c != '\r' || quoted)
      cells.back() += c;
  }
  text.remove_prefix(std::min(i + 1, text.size()));
  for (std::string& cell : cells) cell = outside_text(cell);
  return cells;
}

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(c == '_' ? ' ' : std::tolower(c)); });
  return text;
}

/// The column that is called one of these; heads are compared without case, `_` as a blank.
std::optional<std::size_t> column(const std::vector<std::string>& head,
                                  std::initializer_list<const char*> names) {
  for (const char* name : names)
    for (std::size_t i = 0; i < head.size(); ++i)
      if (lower(head[i]) == name) return i;
  return std::nullopt;
}

CableList empty_list(const RecordSource& source) {
  return {.source = fmt::format("NetBox ({})", source.file), .is_live = false};
}

bool is_planned(const std::string& status) {
  return lower(status) == "planned" || lower(status) == "decommissioning";
}

/// Of what a cable ends at: packets pass by these; by power ports and consoles they do not.
bool carries_packets(const std::string& type) {
  const auto is_one = [&](const char* name) { return lower(type).ends_with(name); };
  return type.empty() || is_one("interface") || is_one("front port") || is_one("rear port") ||
         is_one("frontport") || is_one("rearport");
}

/// The one device and port of an API's `a_terminations`; absent: none, several, or no interface.
std::optional<CableEnd> end_of(const JsonView& cable, std::string_view key) {
  const auto terminations = cable.find(key);
  if (!terminations || terminations->size().value_or(0) != 1) return std::nullopt;
  const auto one = terminations->at(0);
  const auto object = one.find("object");
  if (!object) return std::nullopt;
  const auto device = object->find("device");
  const auto name = object->find("name");
  const auto device_name = device ? device->find("name") : std::nullopt;
  if (!device_name || !name || !device_name->text() || !name->text()) return std::nullopt;
  return CableEnd{std::string(*device_name->text()), std::string(*name->text())};
}

bool is_for_packets(const JsonView& cable) {
  for (const char* key : {"a_terminations", "b_terminations"}) {
    const auto terminations = cable.find(key);
    const auto count = terminations ? terminations->size().value_or(0) : 0;
    for (std::size_t i = 0; i < count; ++i)
      if (const auto type = terminations->at(i).find("object_type");
          type && type->text() && !carries_packets(std::string(*type->text())))
        return false;
  }
  return true;
}

Result<CableList> too_many(const RecordSource& source) {
  return fail(ErrorKind::invalid_input,
              "{}: more than {} cables between ports: export those of this fabric alone (a site, a tag)",
              source.file, kMaxCables);
}

}  // namespace

Result<CableList> parse_netbox_csv(std::string_view text, const RecordSource& source) {
  CableList list = empty_list(source);
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  const auto head = next_row(text);
  const auto device_a = column(head, {"device a", "side a device", "termination a device"});
  const auto device_b = column(head, {"device b", "side b device", "termination b device"});
  const auto port_a = column(head, {"termination a", "side a name", "a terminations"});
  const auto port_b = column(head, {"termination b", "side b name", "b terminations"});
  const auto type_a = column(head, {"termination a type", "side a type"});
  const auto type_b = column(head, {"termination b type", "side b type"});
  const auto status = column(head, {"status"});
  if (!device_a || !device_b || !port_a || !port_b)
    return fail(
        ErrorKind::invalid_input,
        "{}: expected columns 'Device A', 'Termination A', 'Device B' and 'Termination B': export the "
        "cables with these columns",
        source.file);
  for (std::size_t row = 2; !text.empty(); ++row) {
    if (row > kMaxRows) return fail(ErrorKind::invalid_input, "{}: more than {} rows", source.file, kMaxRows);
    const auto cells = next_row(text);
    if (cells.size() == 1 && cells.front().empty()) continue;
    if (cells.size() != head.size()) {
      list.remarks.push_back(
          fmt::format("row {} has {} columns of {}: left out", row, cells.size(), head.size()));
      continue;
    }
    if (status && is_planned(cells[*status])) continue;
    if ((type_a && !carries_packets(cells[*type_a])) || (type_b && !carries_packets(cells[*type_b])))
      continue;
    const CableEnd a{cells[*device_a], cells[*port_a]}, b{cells[*device_b], cells[*port_b]};
    if (a.node.empty() || b.node.empty())
      list.remarks.push_back(fmt::format("row {} has an end without a device: left out", row));
    else
      list.cables.push_back({a, b});
    if (list.cables.size() > kMaxCables) return too_many(source);
  }
  return list;
}

Result<CableList> parse_netbox_json(std::string_view text, const RecordSource& source) {
  if (const auto fits = check_json_limits(text, kLimits); !fits) return pass_on(fits, source.file);
  WEFT_TRY(const auto document, parse_json(text, source.file));
  const JsonView root(document, source.file);
  CableList list = empty_list(source);
  const auto results = document.is_array() ? std::optional(root) : root.find("results");
  if (!results) return root.error("'results' is missing: expected what /api/dcim/cables/ answers");
  WEFT_TRY(const auto count, results->size());
  std::size_t left_out = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto cable = results->at(i);
    const auto status = cable.find("status");
    const auto value = status ? status->find("value") : std::nullopt;
    if (value && value->text() && is_planned(std::string(*value->text()))) continue;
    if (!is_for_packets(cable)) continue;
    const auto a = end_of(cable, "a_terminations"), b = end_of(cable, "b_terminations");
    if (a && b)
      list.cables.push_back({*a, *b});
    else
      ++left_out;
    if (list.cables.size() > kMaxCables) return too_many(source);
  }
  if (left_out > 0)
    list.remarks.push_back(
        fmt::format("{} cables are not between two ports of two devices: left out", left_out));
  if (const auto next = root.find("next"); next && !document.is_array())
    list.remarks.emplace_back("it is one page of several: ask with ?limit=0");
  return list;
}

}  // namespace weft::files
