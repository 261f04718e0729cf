#include "topology/files/counter_section.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "topology/files/yaml_fields.hpp"

namespace weft::files {
namespace {

using namespace std::string_view_literals;

constexpr std::array kKeys{"prometheus"sv, "preset"sv,  "switch"sv, "port"sv, "match"sv,
                           "rename"sv,     "metrics"sv, "window"sv, "exec"sv};
constexpr std::size_t kMaxText = 1000;
constexpr std::size_t kMaxPairs = 1'000'000;  // a rename for each port of the largest fabric
// Prometheus keeps two hours in memory; longer ranges of 147,456 ports are more than it answers at once.
constexpr Nanoseconds kMinWindow = std::chrono::seconds(10), kMaxWindow = std::chrono::hours(2);

Result<std::string> yaml_line(YamlView value, std::string_view key) {
  const auto text = value.text();
  const bool printable = std::ranges::all_of(text, [](unsigned char c) { return c >= ' ' && c != 127; });
  if (text.empty() || text.size() > kMaxText || !printable)
    return value.error("{}: expected a text of 1 to {} characters, found {}", key, kMaxText,
                       value.described());
  return std::string(text);
}

/// A name as metrics and labels have them; PromQL takes it as it is.
Result<std::string> yaml_metric(YamlView value, std::string_view key) {
  WEFT_TRY(auto name, yaml_line(value, key));
  const bool fits =
      std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == ':'; });
  if (!fits || std::isdigit(static_cast<unsigned char>(name[0])) != 0)
    return value.error("{}: expected a name of letters, digits, _ and :, found {}", key, value.described());
  return name;
}

/// Matchers go into a query between braces: one that closes them would ask for something else.
Result<std::string> yaml_match(YamlView value, std::string_view key) {
  WEFT_TRY(auto text, yaml_line(value, key));
  bool quoted = false, escaped = false;
  for (const char c : text) {
    if (!quoted && (c == '{' || c == '}' || c == '\'' || c == '`'))
      return value.error("{}: expected matchers as in job=\"switches\", found {}", key, value.described());
    if (c == '"' && !escaped) quoted = !quoted;
    escaped = quoted && c == '\\' && !escaped;
  }
  if (quoted) return value.error("{}: a quotation mark is missing in {}", key, value.described());
  return text;
}

Result<std::vector<std::string>> yaml_presets(YamlView value, std::string_view key) {
  std::vector<std::string> presets;
  if (value.kind() == YamlKind::scalar) {
    WEFT_TRY(auto one, yaml_line(value, key));
    presets.push_back(std::move(one));
    return presets;
  }
  WEFT_TRY_VOID(yaml_sequence(value, key));
  for (auto item = value.first(); item; item = item->next()) {
    WEFT_TRY(auto one, yaml_line(*item, key));
    presets.push_back(std::move(one));
  }
  return presets;
}

Result<std::vector<std::pair<std::string, std::string>>> yaml_pairs(YamlView value, std::string_view key) {
  if (value.kind() != YamlKind::map)
    return value.error("{}: expected a map as in {{10.0.0.7: leaf1}}, found {}", key, value.described());
  std::vector<std::pair<std::string, std::string>> pairs;
  for (auto name = value.first(); name;) {
    const auto at = name->next();
    if (!at) break;
    if (pairs.size() >= kMaxPairs) return value.error("{}: expected {} at most", key, kMaxPairs);
    WEFT_TRY(auto from, yaml_line(*name, key));
    WEFT_TRY(auto to, yaml_line(*at, key));
    pairs.emplace_back(std::move(from), std::move(to));
    name = at->next();
  }
  return pairs;
}

Result<std::map<std::string, std::string>> yaml_renames(YamlView value, std::string_view key) {
  WEFT_TRY(auto pairs, yaml_pairs(value, key));
  std::map<std::string, std::string> renames;
  for (auto& [from, to] : pairs)
    if (!renames.emplace(from, std::move(to)).second) return value.error("{}: '{}' stands twice", key, from);
  return renames;
}

Result<Nanoseconds> yaml_window(YamlView value, std::string_view key) {
  const auto window = parse_duration(value.text());
  if (!window || *window < kMinWindow || *window > kMaxWindow)
    return value.error("{}: expected {} to {}, found {}", key, to_string(kMinWindow), to_string(kMaxWindow),
                       value.described());
  return *window;
}

}  // namespace

Result<CounterSources> read_counter_sources(YamlView where) {
  WEFT_TRY(const auto fields, YamlFields::read(where, "counters", kKeys));
  CounterSources sources;
  const auto done = in_turn([&] { return fields.read_into("prometheus", sources.prometheus, yaml_line); },
                            [&] { return fields.read_into("preset", sources.presets, yaml_presets); },
                            [&] { return fields.read_into("switch", sources.node_label, yaml_metric); },
                            [&] { return fields.read_into("port", sources.port_label, yaml_metric); },
                            [&] { return fields.read_into("match", sources.match, yaml_match); },
                            [&] { return fields.read_into("rename", sources.renames, yaml_renames); },
                            [&] { return fields.read_into("metrics", sources.metrics, yaml_pairs); },
                            [&] { return fields.read_into("window", sources.window, yaml_window); },
                            [&] { return fields.read_into("exec", sources.exec, yaml_line); });
  if (!done) return pass_on(done);
  if (!sources.prometheus && !sources.exec)
    return where.error("counters: expected prometheus, the URL of a server, or exec, a command");
  return sources;
}

}  // namespace weft::files
