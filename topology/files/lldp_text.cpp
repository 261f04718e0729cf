// LLDP tables as people read them: `lldpcli show neighbors`, which `show lldp neighbors` of SONiC prints too.
#include <algorithm>
#include <optional>

#include "topology/base/outside_text.hpp"
#include "topology/files/cable_records.hpp"

namespace weft::files {
namespace {

constexpr std::size_t kMaxLines = 1'000'000;

struct Neighbour {
  std::string interface;
  std::string name;
  std::string port;  // its id, where that is a name
  std::string description;
  std::optional<bool> forwards = std::nullopt;
  std::vector<IpAddress> addresses = {};
};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r' || text.back() == '\t'))
    text.remove_suffix(1);
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  return text;
}

/// "  KEY:   VALUE" with exactly this indent: what a neighbour says in several lines is indented further.
std::optional<std::string_view> value_of(std::string_view line, std::string_view key) {
  if (!line.starts_with(key)) return std::nullopt;
  return trimmed(line.substr(key.size()));
}

/// "mac 02:77:..." is no name of a port, "ifname swp1" and "local Ethernet0" are.
std::string port_of_id(std::string_view id) {
  const auto blank = id.find(' ');
  if (blank == id.npos || id.substr(0, blank) == "mac") return "";
  const auto name = trimmed(id.substr(blank + 1));
  return std::ranges::count(name, ':') == 5 ? "" : outside_text(name);
}

void take_line(std::string_view line, Neighbour& into) {
  if (const auto name = value_of(line, "    SysName:")) into.name = outside_text(*name);
  if (const auto id = value_of(line, "    PortID:")) into.port = port_of_id(*id);
  if (const auto text = value_of(line, "    PortDescr:")) into.description = outside_text(*text);
  if (const auto text = value_of(line, "    MgmtIP:"))
    if (const auto address = IpAddress::parse(*text)) into.addresses.push_back(*address);
  if (const auto text = value_of(line, "    Capability:")) {
    const bool on = text->ends_with(" on");
    if (text->starts_with("Bridge,") || text->starts_with("Router,"))
      into.forwards = into.forwards.value_or(false) || on;
    if (text->starts_with("Station,") && on) into.forwards = into.forwards.value_or(false);  // alone: a host
  }
}

void add(const Neighbour& one, const std::string& device, CableList& list) {
  if (one.name.empty() || one.interface.empty()) {
    list.remarks.push_back(
        fmt::format("the neighbour at {} says no name of its own: left out",
                    one.interface.empty() ? "an interface without a name" : one.interface));
    return;
  }
  if (one.forwards) (*one.forwards ? list.switches : list.hosts).push_back(one.name);
  for (const IpAddress& address : one.addresses) list.known_by.push_back({{one.name, ""}, address});
  const bool described = one.description.find(' ') == std::string::npos;
  const auto& port = one.port.empty() && described ? one.description : one.port;
  list.cables.push_back({{device, one.interface}, {one.name, port}});
}

bool is_of_sonic(const Neighbour& one) { return one.interface.starts_with("Ethernet"); }

}  // namespace

Result<CableList> parse_lldp_text(std::string_view text, const RecordSource& source) {
  CableList list{.source = fmt::format("LLDP of {} ({})", source.device, source.file)};
  list.devices.push_back(source.device);
  std::vector<Neighbour> all;
  bool ended = false;
  std::size_t lines = 0;
  while (!text.empty()) {
    if (++lines > kMaxLines)
      return fail(ErrorKind::invalid_input, "{}: more than {} lines", source.file, kMaxLines);
    const auto end = std::min(text.find('\n'), text.size());
    const auto line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ended = line.starts_with("-----");
    if (const auto head = value_of(line, "Interface:"))
      all.push_back({.interface = outside_text(head->substr(0, head->find(',')))});
    else if (!all.empty())
      take_line(line, all.back());
  }
  // Each neighbour ends with a rule: what stands behind the last one may be cut in the middle of a word.
  if (!ended)
    list.remarks.emplace_back("the table has no end: it may be cut, its last neighbour is left out");
  if (!ended && !all.empty()) all.pop_back();
  const bool sonic = std::ranges::any_of(all, is_of_sonic);
  if (sonic) list.switches.push_back(source.device);
  for (const Neighbour& one : all)
    if (!sonic || one.interface != "eth0") add(one, source.device, list);  // eth0: its management port
  return list;
}

}  // namespace weft::files
