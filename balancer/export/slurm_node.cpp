#include "balancer/export/slurm_node.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <unordered_set>

#include "topology/base/outside_text.hpp"

namespace weft::exports {
namespace {

constexpr std::size_t kMaxName = 64;  // of a node (MAX_SLURM_NAME)
constexpr std::size_t kMaxLink = 80;  // of a reason: the id has to fit
constexpr std::string_view kIdWord = " id=";

/// Words that scontrol or slurm.conf take for something other than a node, in any case.
constexpr std::array<std::string_view, 4> kWords{"all", "default", "localhost", "nodeset"};
/// Of a node that may be drained: base states, and flags that say nothing against it.
constexpr std::array<std::string_view, 3> kInService{"IDLE", "ALLOCATED", "MIXED"};
constexpr std::array<std::string_view, 8> kHarmlessFlags{
    "COMPLETING", "NOT_RESPONDING", "PLANNED", "RESERVED", "CLOUD", "DYNAMIC", "DYNAMIC_NORM", "BLOCKED"};

bool is_alnum(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

std::string link_or_node(const Fabric& fabric, const blacklist::Entry& entry) {
  const auto subject = find_subject(fabric, entry.subject);
  if (!subject) return entry.subject.name;
  if (const auto* channel = std::get_if<ChannelId>(&*subject))
    return fabric.name_of(Fabric::link_of(*channel));
  if (const auto* nic = std::get_if<PortId>(&*subject)) return fabric.name_of(*fabric.port(*nic).link);
  return entry.subject.name;
}

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const auto end = text.find(at);
    if (end != 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return parts;
}

/// The first ` KEY=` of a line, to the next blank; absent: there is none.
std::optional<std::string_view> field(std::string_view line, std::string_view key) {
  const auto word = fmt::format(" {}=", key);
  const auto at = line.find(word);
  if (at == std::string_view::npos) return std::nullopt;
  line.remove_prefix(at + word.size());
  return line.substr(0, line.find(' '));
}

std::vector<std::string> features(std::string_view line, std::string_view key) {
  const auto value = field(line, key);
  return !value || *value == "(null)" ? std::vector<std::string>() : split(*value, ',');
}

/// `Reason=TEXT [USER@TIME]` ends a line.
std::string reason_in(std::string_view line) {
  constexpr std::string_view kWord = " Reason=";
  const auto at = line.find(kWord);
  if (at == std::string_view::npos) return {};
  line.remove_prefix(at + kWord.size());
  while (line.ends_with(' ')) line.remove_suffix(1);
  const auto who = line.rfind(" [");
  if (line.ends_with(']') && who != std::string_view::npos) line = line.substr(0, who);
  return outside_text(line);
}

bool has(const std::vector<std::string>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

bool is_in_service(const SlurmNode& node) {
  if (!node.reason.empty() || std::ranges::find(kInService, node.state.front()) == kInService.end())
    return false;
  return std::all_of(node.state.begin() + 1, node.state.end(), [](const std::string& flag) {
    return std::ranges::find(kHarmlessFlags, flag) != kHarmlessFlags.end();
  });
}

}  // namespace

bool is_slurm_name(std::string_view name) {
  if (name.empty() || name.size() > kMaxName || !is_alnum(name.front())) return false;
  if (!std::ranges::all_of(name, [](char c) { return is_alnum(c) || c == '-' || c == '_' || c == '.'; }))
    return false;
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
  return std::ranges::find(kWords, lower) == kWords.end();
}

std::string mark_reason(const Fabric& fabric, const blacklist::Entry& entry, std::string_view ledger_fabric,
                        std::string_view why, std::size_t longest) {
  const auto verdict = entry.by_hand ? "planned" : to_string(entry.verdict);
  auto link = printable(link_or_node(fabric, entry)).substr(0, kMaxLink);
  std::ranges::replace(link, ' ', '_');  // the id is the first word that begins with `id=`
  auto reason = printable(fmt::format("{}{} {}{}{} {}", kReasonPrefix, verdict, link, kIdWord,
                                      mark_id(ledger_fabric, entry.id), why))
                    .substr(0, longest);
  while (reason.ends_with(' ')) reason.pop_back();
  return reason;
}

std::string slurm_reason(const Fabric& fabric, const blacklist::Entry& entry,
                         std::string_view ledger_fabric) {
  const std::string_view why = !entry.reason.empty()    ? std::string_view(entry.reason)
                               : entry.evidence.empty() ? std::string_view()
                                                        : std::string_view(entry.evidence.front());
  return mark_reason(fabric, entry, ledger_fabric, why, kMaxReason);
}

std::optional<std::string> mark_in_reason(std::string_view reason) {
  const auto at = reason.find(kIdWord);
  if (!reason.starts_with(kReasonPrefix) || at == std::string_view::npos) return std::nullopt;
  reason.remove_prefix(at + kIdWord.size());
  const auto id = reason.substr(0, reason.find(' '));
  if (id.find(':') == std::string_view::npos) return std::nullopt;
  return std::string(id);
}

std::string rail_feature(std::uint32_t rail) { return fmt::format("weft_rail{}_ok", rail); }

std::string feature_object(std::string_view node, std::string_view feature) {
  return fmt::format("{}:{}", node, feature);
}

SlurmObject parse_slurm_object(std::string_view object) {
  const auto at = object.find(':');
  if (at == std::string_view::npos) return {std::string(object), ""};
  return {std::string(object.substr(0, at)), std::string(object.substr(at + 1))};
}

Result<std::vector<SlurmNode>> parse_slurm_nodes(std::string_view text) {
  constexpr std::string_view kNode = "NodeName=";
  std::vector<SlurmNode> nodes;
  std::unordered_set<std::string> names;
  for (const std::string& line : split(text, '\n')) {
    if (!line.starts_with(kNode)) continue;
    const std::string_view rest = std::string_view(line).substr(kNode.size());
    SlurmNode node{.name = outside_text(rest.substr(0, rest.find(' '))),
                   .state = split(field(rest, "State").value_or(""), '+'),
                   .available = features(rest, "AvailableFeatures"),
                   .active = features(rest, "ActiveFeatures"),
                   .reason = reason_in(rest)};
    if (node.state.empty())
      return fail(ErrorKind::invalid_input, "scontrol show node: no state of node {}", node.name);
    for (std::string& word : node.state)
      while (word.ends_with('*')) word.pop_back();
    if (!names.insert(node.name).second)
      return fail(ErrorKind::invalid_input, "scontrol show node: node {} twice", node.name);
    nodes.push_back(std::move(node));
  }
  return nodes;
}

std::optional<Standing> standing_of(const SlurmNode& node, const std::string& object) {
  const auto [name, feature] = parse_slurm_object(object);
  if (!feature.empty()) {
    if (!has(node.available, feature)) return std::nullopt;
    const bool is_active = has(node.active, feature);
    return Standing{.object = object,
                    .whose = is_active ? Whose::nobody : Whose::weft,
                    .text = is_active ? "active" : "not active",
                    .lasts = false};
  }
  if (is_in_service(node)) return Standing{.object = object, .text = "in service"};
  const auto mark = has(node.state, "DRAIN") ? mark_in_reason(node.reason) : std::nullopt;
  if (mark) return Standing{.object = object, .whose = Whose::weft, .text = node.reason, .mark = mark};
  return Standing{.object = object,
                  .whose = Whose::others,
                  .text = fmt::format("{}{}{}", fmt::join(node.state, "+"), node.reason.empty() ? "" : ": ",
                                      node.reason)};
}

}  // namespace weft::exports
