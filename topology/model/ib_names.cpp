#include "topology/model/ib_names.hpp"

#include <algorithm>
#include <charconv>
#include <set>

#include "topology/base/whole_number.hpp"

namespace weft {
namespace {

constexpr std::size_t kMaxNameLength = 64;  // of a node of a Fabric, and of a NodeDescription
constexpr std::size_t kGuidSuffix = 19;     // "-0x" and 16 digits

/// What installers call a machine that nobody named.
constexpr std::string_view kUnnamedHosts[] = {"localhost", "localhost.localdomain",
                                              "ubuntu",    "ubuntu-server",
                                              "debian",    "centos",
                                              "rocky",     "almalinux",
                                              "rhel",      "fedora",
                                              "linux",     "none",
                                              "unknown"};
/// In what makers call a device that nobody named, as read_description() leaves it.
constexpr std::string_view kMakersWords[] = {"Mellanox-Technologies", "Infiniscale", "ConnectX"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_name_char(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '_';
}

/// Letters, digits, '.' and '_' stay; anything else becomes one '-', none of them at the ends.
std::string cleaned(std::string_view text) {
  std::string name;
  for (const char c : text) {
    if (is_name_char(c))
      name += c;
    else if (!name.empty() && name.back() != '-')
      name += '-';
    if (name.size() == kMaxNameLength) break;
  }
  while (!name.empty() && name.back() == '-') name.pop_back();
  return name;
}

/// The device number in "mlx5_2" (2), "HCA-1" (0: those count from 1), "hfi1_0".
std::optional<std::uint32_t> device_number(std::string_view word) {
  if (word.starts_with("HCA-")) {
    const auto n = parse_whole_number<std::uint32_t>(word.substr(4));
    return n && *n > 0 ? std::optional(*n - 1) : std::nullopt;
  }
  const auto bar = word.rfind('_');
  return bar == std::string_view::npos ? std::nullopt
                                       : parse_whole_number<std::uint32_t>(word.substr(bar + 1));
}

std::string with_guid(std::string_view name, Guid guid) {
  const auto suffix = fmt::format("-0x{:016x}", guid.value());
  if (name.empty()) return suffix.substr(1);
  if (name.ends_with(suffix)) return std::string(name);
  auto base = name.substr(0, kMaxNameLength - kGuidSuffix);
  while (base.ends_with('-')) base.remove_suffix(1);
  return std::string(base) + suffix;
}

/// The name without a GUID that stands behind it; all of it where there is none.
std::string_view without_guid(std::string_view name) {
  if (name.size() < kGuidSuffix) return name;
  const auto suffix = name.substr(name.size() - kGuidSuffix);
  const bool is_guid =
      suffix.starts_with("-0x") && suffix.find_first_not_of("0123456789abcdef", 3) == std::string_view::npos;
  return is_guid ? name.substr(0, name.size() - kGuidSuffix) : name;
}

struct Named {
  std::string name;
  std::optional<std::uint32_t> device;
  bool is_switch = false;
};

Named first_name(const IbSubnetNode& node, const IbNodeNames& names) {
  const auto given = names.find(node.guid);
  auto read = read_description(given != names.end() ? given->second : node.about.description);
  return {.name = std::move(read.name), .device = read.device, .is_switch = node.is_switch};
}

}  // namespace

IbDescription read_description(std::string_view description) {
  IbDescription result{.is_aggregation_node = description.find("Aggregation Node") != std::string_view::npos};
  // "MF0;leaf1:MQM9700/U1": the managed switches of one vendor put their host name there.
  const auto semicolon = description.find(';');
  if (semicolon != std::string_view::npos) {
    const auto rest = description.substr(semicolon + 1);
    result.name = cleaned(rest.substr(0, rest.find(':')));
    return result;
  }
  const auto space = description.rfind(' ');
  if (space != std::string_view::npos) result.device = device_number(description.substr(space + 1));
  result.name = cleaned(result.device ? description.substr(0, space) : description);
  return result;
}

bool is_unnamed(std::string_view name) {
  const auto base = without_guid(name);
  if (std::ranges::find(kUnnamedHosts, base) != std::end(kUnnamedHosts) || base.starts_with("0x"))
    return true;
  return std::ranges::any_of(
      kMakersWords, [&](std::string_view word) { return base.find(word) != std::string_view::npos; });
}

bool same_name(std::string_view a, std::string_view b) {
  const auto x = without_guid(a);
  const auto y = without_guid(b);
  if (x == y) return true;
  // A description holds 64 characters: of a long name the device behind it is cut, or the name itself.
  const auto shorter = std::min(x.size(), y.size());
  return shorter + kGuidSuffix >= kMaxNameLength && x.substr(0, shorter) == y.substr(0, shorter);
}

bool natural_less(std::string_view a, std::string_view b) {
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (!is_digit(a[i]) || !is_digit(b[j])) {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i, ++j;
      continue;
    }
    std::size_t ei = i;
    std::size_t ej = j;
    while (ei < a.size() && is_digit(a[ei])) ++ei;
    while (ej < b.size() && is_digit(b[ej])) ++ej;
    const auto x = a.substr(i, ei - i);
    const auto y = b.substr(j, ej - j);
    if (x.size() != y.size()) return x.size() < y.size();
    if (x != y) return x < y;
    i = ei, j = ej;
  }
  return a.size() - i < b.size() - j;
}

std::vector<std::string> name_nodes(const IbSubnet& subnet, const IbNodeNames& names) {
  std::vector<Named> named;
  for (const auto& node : subnet.nodes) named.push_back(first_name(node, names));
  // Adapters with a device number of their own under one name are one host; any other repeat is a clash.
  std::map<std::string, std::set<std::optional<std::uint32_t>>> devices;
  std::set<std::string> clashes;
  for (const auto& n : named) {
    auto& seen = devices[n.name];
    const bool shares =
        !seen.empty() && (n.is_switch || !n.device || seen.contains(std::nullopt) || is_unnamed(n.name));
    if (shares || !seen.insert(n.is_switch ? std::nullopt : n.device).second) clashes.insert(n.name);
    // That of another node may come to read so.
    if (without_guid(n.name).size() < n.name.size()) clashes.insert(n.name);
  }
  clashes.insert("");
  std::vector<std::string> result;
  for (std::size_t i = 0; i < named.size(); ++i)
    result.push_back(clashes.contains(named[i].name) ? with_guid(named[i].name, subnet.nodes[i].guid)
                                                     : named[i].name);
  return result;
}

Result<IbNodeNames> parse_node_names(std::string_view text) {
  IbNodeNames names;
  std::size_t line_number = 0;
  while (!text.empty()) {
    ++line_number;
    const auto end = text.find('\n');
    auto line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    line = line.substr(0, line.find('#'));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    line.remove_prefix(line.find_first_not_of(" \t\r"));
    if (line.starts_with("0x")) line.remove_prefix(2);
    std::uint64_t guid = 0;
    const auto [stop, error] = std::from_chars(line.data(), line.data() + line.size(), guid, 16);
    const auto open = line.find('"');
    const auto close = line.rfind('"');
    if (error != std::errc{} || open == std::string_view::npos || close <= open + 1)
      return fail(ErrorKind::invalid_input, "node-name map, line {}: expected 0xGUID \"name\"", line_number);
    names[Guid(guid)] = std::string(line.substr(open + 1, close - open - 1));
  }
  return names;
}

}  // namespace weft
