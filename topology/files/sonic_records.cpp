// What SONiC tells of cables: `show lldp table`, and config_db.json.
#include <algorithm>
#include <sstream>

#include "topology/base/json_limits.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/files/cable_records.hpp"
#include "topology/files/json_view.hpp"

namespace weft::files {
namespace {

using Json = nlohmann::json;

constexpr JsonLimits kLimits{.bytes = 64'000'000, .depth = 16, .values = 4'000'000};
constexpr std::size_t kMaxLines = 100'000;

/// A line of a table cut at the columns of its head.
struct Columns {
  std::size_t device, port, capability, description;

  static std::optional<Columns> of(std::string_view head) {
    const auto at = [&](std::string_view word) { return head.find(word); };
    const Columns found{at("RemoteDevice"), at("RemotePortID"), at("Capability"), at("RemotePortDescr")};
    if (found.device == head.npos || found.port == head.npos || !(found.device < found.port))
      return std::nullopt;
    return found;
  }
};

std::string cell(std::string_view line, std::size_t from, std::size_t to) {
  if (from >= line.size()) return "";
  auto text = line.substr(from, to > from ? to - from : line.npos);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  return outside_text(text);
}

const Json* table(const Json& document, const char* name) {
  const auto at = document.find(name);
  return at == document.end() || !at->is_object() ? nullptr : &*at;
}
std::string text_at(const Json& entry, const char* key) {
  if (!entry.is_object()) return "";
  const auto at = entry.find(key);
  return at == entry.end() || !at->is_string() ? "" : at->get<std::string>();
}

/// Of PORT: {"Ethernet0": {"speed": "400000"}}, in Mbit/s.
std::optional<Bandwidth> speed_of(const Json& document, const std::string& port) {
  const Json* ports = table(document, "PORT");
  if (ports == nullptr || !ports->contains(port)) return std::nullopt;
  const auto text = text_at((*ports)[port], "speed");
  if (text.empty() || text.size() > 9 ||
      !std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; }))
    return std::nullopt;
  const double mbit = std::stod(text);
  return mbit > 0 ? std::optional(Bandwidth::mbit(mbit)) : std::nullopt;
}

/// Keys of INTERFACE: "Ethernet0|10.0.0.0/31".
void read_addresses(const Json& document, const std::string& device, const char* name, bool of_device,
                    CableList& list) {
  const Json* interfaces = table(document, name);
  if (interfaces == nullptr) return;
  for (const auto& [key, value] : interfaces->items()) {
    const auto bar = key.find('|');
    if (bar == std::string::npos) continue;
    const auto address = IpAddress::parse(std::string_view(key).substr(bar + 1, key.find('/') - bar - 1));
    if (!address) {
      list.remarks.push_back(fmt::format("{}: '{}' has no address that can be read", name, key));
      continue;
    }
    list.addresses.push_back({{device, of_device ? "" : key.substr(0, bar)}, *address});
  }
}

}  // namespace

Result<CableList> parse_sonic_lldp_table(std::string_view text, const RecordSource& source) {
  CableList list{.source = fmt::format("LLDP of {} ({})", source.device, source.file)};
  list.devices.push_back(source.device);
  list.switches.push_back(source.device);
  std::optional<Columns> columns;
  std::size_t lines = 0;
  bool ended = false;
  std::optional<std::size_t> total;
  if (text.find("Total entries displayed:") ==
      text.npos)  // it may be cut: what the last row says is not whole
    text = text.substr(0, text.rfind('\n') == text.npos ? 0 : text.rfind('\n') + 1);
  std::istringstream in{std::string(text)};
  for (std::string line; std::getline(in, line);) {
    if (++lines > kMaxLines)
      return fail(ErrorKind::invalid_input, "{}: more than {} lines", source.file, kMaxLines);
    if (line.ends_with('\r')) line.pop_back();
    if (line.starts_with("LocalPort")) columns = Columns::of(line);
    if (line.starts_with("Total entries displayed:")) {
      ended = true;
      total = static_cast<std::size_t>(std::strtoul(line.c_str() + line.find(':') + 1, nullptr, 10));
    }
    if (!columns || line.starts_with("LocalPort") || line.starts_with("--") || ended) continue;
    const auto local = cell(line, 0, columns->device);
    const auto device = cell(line, columns->device, columns->port);
    auto port = cell(line, columns->port, columns->capability);
    if (local.empty() || local.starts_with("eth")) continue;  // eth0 is the management port
    if (std::ranges::count(port, ':') == 5) port = cell(line, columns->description, line.npos);
    if (device.empty()) {
      list.remarks.push_back(fmt::format("line {}: the neighbour at {} has no name: left out", lines, local));
      continue;
    }
    list.cables.push_back({{source.device, local}, {device, port.find(' ') == port.npos ? port : ""}});
  }
  if (!columns)
    return fail(ErrorKind::invalid_input,
                "{}: no line 'LocalPort RemoteDevice RemotePortID': expected what `show lldp table` prints",
                source.file);
  if (!ended) list.remarks.emplace_back("the table has no end: it may be cut");
  if (total && *total < list.cables.size())
    list.remarks.push_back(fmt::format("it says {} entries and has {}", *total, list.cables.size()));
  return list;
}

Result<CableList> parse_sonic_config(std::string_view text, const RecordSource& source) {
  if (const auto fits = check_json_limits(text, kLimits); !fits) return pass_on(fits, source.file);
  WEFT_TRY(const auto document, parse_json(text, source.file));
  const Json* metadata = document.is_object() ? table(document, "DEVICE_METADATA") : nullptr;
  if (metadata == nullptr)
    return fail(ErrorKind::invalid_input, "{}: DEVICE_METADATA is missing: expected a config_db.json",
                source.file);
  std::string device = source.device;
  if (const Json* local = table(*metadata, "localhost"))
    if (const auto name = text_at(*local, "hostname"); !name.empty()) device = name;
  CableList list{.source = fmt::format("configuration of {} ({})", device, source.file), .is_live = false};
  list.switches.push_back(device);
  if (const Json* neighbours = table(document, "DEVICE_NEIGHBOR"))
    for (const auto& [port, neighbour] : neighbours->items()) {
      const auto name = text_at(neighbour, "name");
      if (name.empty()) {
        list.remarks.push_back(fmt::format("DEVICE_NEIGHBOR {} has no name: left out", port));
        continue;
      }
      list.cables.push_back({{device, port}, {name, text_at(neighbour, "port")}, speed_of(document, port)});
    }
  read_addresses(document, device, "INTERFACE", false, list);
  read_addresses(document, device, "LOOPBACK_INTERFACE", true, list);
  return list;
}

}  // namespace weft::files
