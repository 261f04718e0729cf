#include "balancer/export/ufm_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "balancer/export/target.hpp"
#include "topology/base/json_limits.hpp"
#include "topology/base/whole_number.hpp"
#include "topology/files/json_view.hpp"

namespace weft::exports {
namespace {

using files::JsonView;

/// Of an answer: 40,000 ports, each of some 60 members and 1.5 KB in the guide's example.
constexpr JsonLimits kLimits{.bytes = 64'000'000, .depth = 16, .values = 8'000'000};
constexpr std::string_view kIsolatedAt = "isolated at ";
constexpr std::string_view kAnswer = "the answer of UFM";
constexpr std::size_t kMaxGuid = 16;        // hexadecimal digits
constexpr unsigned kMaxPortNumber = 254;    // of a switch (IBTA vol. 1, 14.2.5.6)
constexpr std::size_t kMaxConditions = 16;  // there are seven
constexpr std::size_t kMaxText = 64;        // of a condition or a name of a system

std::optional<Guid> parse_guid(std::string_view text) {
  if (text.starts_with("0x")) text.remove_prefix(2);
  if (text.size() != kMaxGuid) return std::nullopt;
  const auto value = parse_whole_number<std::uint64_t>(text, 16);
  return value ? std::optional(Guid(*value)) : std::nullopt;
}

std::optional<UfmPortId> port_of(std::string_view guid, unsigned number) {
  const auto node = parse_guid(guid);
  if (!node || number > kMaxPortNumber) return std::nullopt;
  return UfmPortId{*node, PortNumber(static_cast<std::uint16_t>(number))};
}

/// A JSON array, taken apart by `read_item`.
template <class T, class ReadItem>
Result<std::vector<T>> read_list(std::string_view text, ReadItem read_item) {
  WEFT_TRY_VOID(check_json_limits(text, kLimits));
  WEFT_TRY(const auto json, files::parse_json(text, kAnswer));
  return files::read_array<T>(JsonView(json, kAnswer), read_item);
}

Result<std::string_view> need_text(const JsonView& object, std::string_view key) {
  WEFT_TRY(const auto member, object.need(key));
  return member.text();
}

/// The guide has a number in one example; other members that are numbers are texts there.
Result<unsigned> number_of(const JsonView& member) {
  if (const auto text = member.text()) {
    if (const auto number = parse_whole_number<unsigned>(*text)) return *number;
    return member.error("expected a number");
  }
  return member.count<unsigned>();
}

/// A text, or a list of texts: the guide has both, in two examples.
Result<std::vector<std::string>> read_conditions(const JsonView& member) {
  std::vector<std::string> conditions;
  if (const auto text = member.text()) {
    conditions.emplace_back(*text);
  } else {
    WEFT_TRY(conditions, files::read_texts(member));
  }
  if (conditions.empty() || conditions.size() > kMaxConditions)
    return member.error("expected 1 to {} conditions", kMaxConditions);
  for (std::string& condition : conditions) condition = printable(condition).substr(0, kMaxText);
  return conditions;
}

/// Of a port without a cable its members may be absent, or say N/A.
std::optional<UfmPortId> peer_of(const JsonView& row) {
  const auto guid = row.find("PeerGUID");
  const auto number = row.find("PeerPortNumber");
  if (!guid || !number) return std::nullopt;
  const auto text = guid->text();
  const auto port = number_of(*number);
  return text && port ? port_of(*text, *port) : std::nullopt;
}

Result<UnhealthyPort> read_unhealthy(const JsonView& row) {
  WEFT_TRY(const auto guid, need_text(row, "UnhealthyGUID"));
  WEFT_TRY(const auto member, row.need("UnhealthyPortNumber"));
  WEFT_TRY(const auto number, number_of(member));
  const auto id = port_of(guid, number);
  if (!id) return row.error("{} port {} is no port", guid, number);
  WEFT_TRY(const auto condition, row.need("Condition"));
  WEFT_TRY(auto conditions, read_conditions(condition));
  return UnhealthyPort{*id, std::move(conditions), peer_of(row)};
}

/// Absent: its name is of another form.
Result<std::optional<UfmPort>> read_port(const JsonView& row) {
  WEFT_TRY(const auto name, need_text(row, "name"));
  WEFT_TRY(const auto state, need_text(row, "logical_state"));
  const auto id = parse_ufm_port_id(name);
  if (!id) return std::nullopt;
  UfmPort port{.id = *id, .system = "", .is_active = state == "Active"};
  if (const auto system = row.find("system_name")) {
    WEFT_TRY(const auto text, system->text());
    port.system = text.substr(0, kMaxText);
  }
  if (const auto peer = row.find("peer")) {
    WEFT_TRY(const auto text, peer->text());
    port.peer = parse_ufm_port_id(text);
  }
  return port;
}

std::string policy_body(const UfmPortId& port, std::string_view policy, bool isolates) {
  nlohmann::ordered_json body;
  body["ports"] = nlohmann::ordered_json::array({to_string(port)});
  body["ports_policy"] = policy;
  if (isolates) body["action"] = "isolate";
  return body.dump();
}

}  // namespace

std::string to_string(const UfmPortId& port) {
  return fmt::format("{:016x}_{}", port.guid.value(), port.number.value());
}

std::optional<UfmPortId> parse_ufm_port_id(std::string_view name) {
  const auto line = name.find('_');
  if (line == std::string_view::npos) return std::nullopt;
  const auto number = parse_whole_number<unsigned>(name.substr(line + 1));
  return number ? port_of(name.substr(0, line), *number) : std::nullopt;
}

std::string isolated_at(const UfmPortId& port) { return std::string(kIsolatedAt) + to_string(port); }

std::optional<UfmPortId> port_of_mark(std::string_view mark) {
  if (!mark.starts_with(kIsolatedAt)) return std::nullopt;
  return parse_ufm_port_id(mark.substr(kIsolatedAt.size()));
}

bool UnhealthyPort::is_manual() const { return std::ranges::find(conditions, "MANUAL") != conditions.end(); }

Result<UfmPorts> parse_ufm_ports(std::string_view text) {
  WEFT_TRY(auto rows, read_list<std::optional<UfmPort>>(text, read_port));
  UfmPorts ports;
  for (auto& row : rows) {
    if (!row) continue;
    const UfmPortId id = row->id;
    if (!ports.try_emplace(id, std::move(*row)).second)
      return fail(ErrorKind::invalid_input, "{}: port {} twice", kAnswer, to_string(id));
  }
  return ports;
}

Result<UnhealthyPorts> parse_unhealthy_ports(std::string_view text) {
  WEFT_TRY(auto rows, read_list<UnhealthyPort>(text, read_unhealthy));
  UnhealthyPorts ports;
  for (UnhealthyPort& row : rows) {
    const UfmPortId id = row.id;
    // A row whose port is there already is not moved from.
    const auto [at, is_new] = ports.try_emplace(id, std::move(row));
    if (!is_new)
      for (std::string& condition : row.conditions) at->second.conditions.push_back(std::move(condition));
  }
  return ports;
}

std::string isolate_body(const UfmPortId& port) { return policy_body(port, "UNHEALTHY", true); }
std::string healthy_body(const UfmPortId& port) { return policy_body(port, "HEALTHY", false); }

std::string ufm_message(std::string_view body) {
  const auto start = body.find_first_not_of(" \t\r\n");
  return start == std::string_view::npos || body[start] == '<' ? "" : std::string(body.substr(start));
}

std::string curl_line(const CurlPlace& place, const std::string& body) {
  auto who =
      place.user.empty() ? std::string("-H \"Authorization: Basic $TOKEN\"") : "-u " + shell_word(place.user);
  if (!place.ca.empty()) who += " --cacert " + shell_word(place.ca);
  return fmt::format("curl {} -X PUT -H 'Content-Type: application/json' -d {} {}", who, shell_word(body),
                     shell_word(place.url + "/app/unhealthy_ports"));
}

}  // namespace weft::exports
