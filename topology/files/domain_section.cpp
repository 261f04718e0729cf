#include "topology/files/domain_section.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include "topology/base/host_list.hpp"
#include "topology/files/time_span.hpp"
#include "topology/files/yaml_fields.hpp"

namespace weft::files {
namespace {

using namespace std::string_view_literals;

constexpr std::array kDomainKeys{"name"sv,     "kind"sv,  "members"sv, "events"sv,
                                 "exposure"sv, "share"sv, "repair"sv};
constexpr std::size_t kMaxDomains = 100'000;    // more than racks of any site
constexpr std::size_t kMaxMembers = 2'000'000;  // of all domains: a node of the largest fabric in a few
constexpr std::size_t kMaxName = 64;            // as names of nodes
constexpr double kMaxEvents = 1e9;

Result<Hours> yaml_span(YamlView value, std::string_view key) {
  const auto span = parse_span(value.text());
  if (!span) return value.error("{}: {}", key, span.error().message);
  return Hours(*span);
}

Result<std::string> yaml_word(YamlView value, std::string_view key) {
  const bool printable =
      std::ranges::all_of(value.text(), [](unsigned char c) { return c > ' ' && c < 127; });
  if (value.text().empty() || value.text().size() > kMaxName || !printable)
    return value.error("{}: expected a word of 1 to {} letters and digits, found {}", key, kMaxName,
                       value.described());
  return std::string(value.text());
}

Result<double> yaml_events(YamlView value, std::string_view key) {
  double events = 0;
  const auto text = value.text();
  const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), events);
  if (bad != std::errc() || end != text.data() + text.size() || !(events >= 0 && events <= kMaxEvents))
    return value.error("{}: expected a number of events, 0 or more, found {}", key, value.described());
  return events;
}

Result<Fraction> yaml_hit_share(YamlView value, std::string_view key) {
  const auto share = parse_percent(value.text());
  if (!value.text().ends_with('%') || !share ||
      !(share->value() > 0))  // 1 is all of them, or one in a hundred
    return value.error("{}: expected a share above 0 with its sign, as 100% of the members, found {}", key,
                       value.described());
  return *share;
}

/// Items are names, or lists of them as `host[1-32]`.
Result<std::vector<NodeId>> yaml_members(YamlView list, const Fabric& fabric, std::size_t room) {
  WEFT_TRY_VOID(yaml_sequence(list, "members"));
  std::vector<NodeId> members;
  std::set<NodeId> seen;
  for (auto item = list.first(); item; item = item->next()) {
    const auto names = expand_hosts(item->text());
    if (!names) return item->error("members: {}", names.error().message);
    for (const auto& name : *names) {
      const auto node = fabric.find_node(name);
      if (!node) return item->error("members: {} (lists of names are 'host[1-32]')", node.error().message);
      if (!seen.insert(*node).second) return item->error("members: {} stands twice in this domain", name);
      if (members.size() >= room)
        return item->error("members: expected {} at most in all domains", kMaxMembers);
      members.push_back(*node);
    }
  }
  if (members.empty()) return list.error("members: expected a host or a switch at least");
  return members;
}

Result<FailureDomain> read_domain(YamlView where, const Fabric& fabric, std::size_t room) {
  WEFT_TRY(const auto fields, YamlFields::read(where, "a domain", kDomainKeys));
  FailureDomain domain;
  const auto members = [&](YamlView value, std::string_view) { return yaml_members(value, fabric, room); };
  WEFT_TRY_VOID(in_turn([&] { return fields.need_into("name", domain.name, yaml_word); },
                        [&] { return fields.need_into("kind", domain.kind, yaml_word); },
                        [&] { return fields.need_into("members", domain.members, members); },
                        [&] { return fields.need_into("events", domain.events, yaml_events); },
                        [&] { return fields.need_into("exposure", domain.exposure, yaml_span); },
                        [&] { return fields.read_into("share", domain.share, yaml_hit_share); },
                        [&] { return fields.need_into("repair", domain.repair, yaml_span); }));
  return domain;
}

}  // namespace

Result<std::vector<FailureDomain>> read_domains(YamlView where, const Fabric& fabric) {
  WEFT_TRY_VOID(yaml_sequence(where, "domains"));
  std::vector<FailureDomain> domains;
  std::set<std::string> names;
  std::size_t members = 0;
  for (auto item = where.first(); item; item = item->next()) {
    if (domains.size() == kMaxDomains) return item->error("domains: expected {} at most", kMaxDomains);
    WEFT_TRY(auto domain, read_domain(*item, fabric, kMaxMembers - members));
    if (!names.insert(domain.name).second)
      return item->error("domains: '{}' is the name of two of them", domain.name);
    members += domain.members.size();
    domains.push_back(std::move(domain));
  }
  return domains;
}

std::string domains_text(const Fabric& fabric, const std::vector<FailureDomain>& domains) {
  std::string text = domains.empty() ? "" : "domains:\n";
  for (const auto& domain : domains) {
    std::string members;
    for (const NodeId node : domain.members)
      members += fmt::format("{}\"{}\"", members.empty() ? "" : ", ", fabric.name_of(node));
    const auto nanoseconds = [](Hours time) { return std::chrono::round<Nanoseconds>(time).count(); };
    text += fmt::format(
        "  - {{name: \"{}\", kind: \"{}\", members: [{}], events: {}, exposure: {}ns, share: {}%, repair: "
        "{}ns}}\n",
        domain.name, domain.kind, members, domain.events, nanoseconds(domain.exposure),
        domain.share.as_percent(), nanoseconds(domain.repair));
  }
  return text;
}

}  // namespace weft::files
