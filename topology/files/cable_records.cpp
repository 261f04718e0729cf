#include "topology/files/cable_records.hpp"

#include <algorithm>

#include "topology/base/json_limits.hpp"
#include "topology/files/json_view.hpp"

namespace weft::files {
namespace {

constexpr std::size_t kTitle = 400;  // the rule above it, and what a prompt may have left
constexpr JsonLimits kLimits{.bytes = 256'000'000, .depth = 32, .values = 16'000'000};

Result<CableList> parse_json_record(std::string_view text, const RecordSource& source) {
  if (const auto fits = check_json_limits(text, kLimits); !fits) return pass_on(fits, source.file);
  WEFT_TRY(const auto document, parse_json(text, source.file));
  if (document.is_object() && document.contains("lldp")) return parse_lldpcli_json(text, source);
  if (document.is_object() && document.contains("DEVICE_METADATA")) return parse_sonic_config(text, source);
  const bool has_cables = document.is_object() ? document.contains("results") : document.is_array();
  if (has_cables) return parse_netbox_json(text, source);
  const auto tells = [](const nlohmann::json& entry) { return entry.is_object() && entry.contains("lldp"); };
  if (document.is_object() && std::any_of(document.begin(), document.end(), tells))
    return parse_nvue_lldp(text, source);
  return fail(
      ErrorKind::invalid_input,
      "{}: JSON, and none that is known: expected `lldpcli show neighbors -f json`, `nv show interface "
      "--lldp -o json`, config_db.json, or NetBox's cables",
      source.file);
}

}  // namespace

Result<CableList> parse_cable_record(std::string_view text, const RecordSource& source) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return fail(ErrorKind::invalid_input, "{}: it is empty", source.file);
  if (text[first] == '{' || text[first] == '[') return parse_json_record(text, source);
  if (text[first] == '<') return parse_sonic_minigraph(text, source);
  if (text.substr(first, kTitle).find("LLDP neighbors:") != std::string_view::npos)
    return parse_lldp_text(text, source);
  if (text.find("RemotePortID") != std::string_view::npos) return parse_sonic_lldp_table(text, source);
  const auto head = text.substr(0, text.find('\n'));
  if (head.find(',') != std::string_view::npos) return parse_netbox_csv(text, source);
  return fail(
      ErrorKind::invalid_input,
      "{}: not known: expected `lldpcli show neighbors -f json`, SONiC's `show lldp table`, `show lldp "
      "neighbors`, config_db.json or minigraph.xml, `nv show interface --lldp -o json`, or NetBox's cables "
      "as CSV or JSON",
      source.file);
}

}  // namespace weft::files
