#include "cli/configuration.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>

#include "probes/run/agent_options.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/base/text.hpp"
#include "topology/files/yaml_tree.hpp"

namespace weft::cli {
namespace {

constexpr std::string_view kVariable = "WEFT_";
/// Of ours, and no option: the credential of a server, where the configuration stands, and what a command
/// that starts itself anew in an InfiniBand lab tells itself.
constexpr std::array<std::string_view, 5> kOtherVariables{
    run::kBusTokenVariable, "WEFT_CONFIG", "WEFT_NCCL_DIR", "WEFT_NO_CONFIG", "WEFT_INFINIBAND_LAB"};

/// "", "lab.", "lab.up.": the sections of a command.
std::vector<std::string> prefixes(const CommandPage& page) {
  std::vector<std::string> all{""};
  for (const std::string& word : page.words) all.push_back(all.back() + word + ".");
  return all;
}

/// The keys of an option of a command, the most specific one last.
std::vector<std::string> keys_of(const CommandPage& page, const OptionText& option) {
  std::vector<std::string> keys;
  for (const std::string& prefix : prefixes(page)) keys.push_back(prefix + option.name);
  if (option.own_section_only) keys.erase(keys.begin(), keys.end() - 1);
  return keys;
}

struct Vocabulary {
  std::map<std::string, bool> keys;  // true: a source may set it
  std::set<std::string> sections;    // "lab.", "lab.up."
};

Vocabulary vocabulary_of(std::span<const CommandPage> pages) {
  Vocabulary known;
  for (const CommandPage& page : pages) {
    if (!page.takes_configuration) continue;
    for (const std::string& prefix : prefixes(page))
      if (!prefix.empty()) known.sections.insert(prefix);
    for (const OptionText& option : page.options)
      for (const std::string& key : keys_of(page, option)) known.keys[key] |= !option.command_line_only;
  }
  return known;
}

/// ": did you mean 'budget'?", of the keys and sections under `prefix`.
std::string nearest(const Vocabulary& known, const std::string& prefix, std::string_view word) {
  std::vector<std::string_view> names;
  const auto add = [&](std::string_view key) {
    if (!key.starts_with(prefix)) return;
    key.remove_prefix(prefix.size());
    key = key.substr(0, key.find('.'));
    if (!key.empty()) names.push_back(key);
  };
  for (const auto& [key, may_be_set] : known.keys)
    if (may_be_set) add(key);
  for (const std::string& section : known.sections) add(section);
  return did_you_mean(word, names);
}

/// Comments alone, which is no document to the parser.
bool sets_nothing(std::string_view text) {
  bool comment = false;
  return std::ranges::none_of(text, [&](char c) {
    if (c == '\n') comment = false;
    if (c == '#') comment = true;
    return !comment && c != '\n' && c != ' ' && c != '\t' && c != '\r';
  });
}

/// Reads one file, section by section.
class Reader {
 public:
  explicit Reader(std::span<const CommandPage> pages, std::string_view file)
      : known_(vocabulary_of(pages)), file_(file) {}

  Result<void> read_section(files::YamlView section, const std::string& prefix) {
    auto key = section.first();
    while (key) {
      const auto value = key->next();
      if (!value) break;
      WEFT_TRY_VOID(read_entry(*key, *value, prefix));
      key = value->next();
    }
    return {};
  }
  Settings take() { return std::move(settings_); }

 private:
  Result<void> read_entry(files::YamlView key, files::YamlView value, const std::string& prefix) {
    const std::string name(key.text());
    if (name.empty())
      return key.error("expected the name of an option or a command, found {}", key.described());
    if (value.kind() == files::YamlKind::map) {
      if (known_.sections.contains(prefix + name + ".")) return read_section(value, prefix + name + ".");
      return key.error("no command is called '{}'{}", prefix + name, nearest(known_, prefix, name));
    }
    const auto found = known_.keys.find(prefix + name);
    if (found == known_.keys.end() && known_.sections.contains(prefix + name + "."))
      return value.error("'{}' is a command: expected its options, found {}", name, value.described());
    if (found == known_.keys.end())
      return key.error("{}{}{}", unknown(prefix), name + "'", nearest(known_, prefix, name));
    if (!found->second) return key.error("'{}' stands on the command line alone: no file sets it", name);
    Given given{.where = fmt::format("{}:{}", file_, key.line())};
    WEFT_TRY(given.values, values_of(value, name));
    if (!settings_.emplace(prefix + name, std::move(given)).second)
      return key.error("'{}' stands twice", prefix + name);
    return {};
  }

  static std::string unknown(const std::string& prefix) {
    if (prefix.empty()) return "no command has an option '";
    return fmt::format("'{}' has no option '", prefix.substr(0, prefix.size() - 1));
  }

  static Result<std::vector<std::string>> values_of(files::YamlView value, const std::string& name) {
    std::vector<std::string> values;
    if (value.kind() == files::YamlKind::scalar) return std::vector{std::string(value.text())};
    if (value.kind() != files::YamlKind::sequence) return value.error("'{}' has no value", name);
    for (auto item = value.first(); item; item = item->next()) {
      if (item->kind() != files::YamlKind::scalar)
        return item->error("'{}': expected a value, found {}", name, item->described());
      values.emplace_back(item->text());
    }
    return values;
  }

  Vocabulary known_;
  std::string file_;
  Settings settings_;
};

/// The most specific key of the option that the source has.
const Given* find(const Settings& source, const CommandPage& page, const OptionText& option) {
  const Given* found = nullptr;
  for (const std::string& key : keys_of(page, option))
    if (const auto at = source.find(key); at != source.end()) found = &at->second;
  return found;
}

std::optional<bool> parse_switch(std::string_view text) {
  for (const std::string_view yes : {"true", "yes", "on", "1"})
    if (text == yes) return true;
  for (const std::string_view no : {"false", "no", "off", "0"})
    if (text == no) return false;
  return std::nullopt;
}

/// Of options with the index of their last source: those of `losers` that a later one of `winners` displaces.
void displace(std::vector<InForce>& all, const std::map<std::string, std::size_t>& last,
              const std::vector<std::string>& winners, const std::vector<std::string>& losers) {
  const std::string* latest = nullptr;
  for (const std::string& winner : winners)
    if (last.contains(winner) && (!latest || last.at(winner) > last.at(*latest))) latest = &winner;
  if (!latest) return;
  for (InForce& option : all)
    if (std::ranges::count(losers, option.option.name) > 0 && last.at(option.option.name) < last.at(*latest))
      option.displaced = *latest;
}

}  // namespace

Result<Settings> parse_configuration(std::string_view text, std::string_view file,
                                     std::span<const CommandPage> pages) {
  if (sets_nothing(text)) return Settings{};
  WEFT_TRY(const auto tree, files::YamlTree::parse(text, file));
  const auto root = tree.root();
  if (root.kind() == files::YamlKind::null) return Settings{};
  if (root.kind() != files::YamlKind::map)
    return root.error("expected options and commands, as in 'budget: 60s', found {}", root.described());
  Reader reader(pages, file);
  WEFT_TRY_VOID(reader.read_section(root, ""));
  return reader.take();
}

std::string variable_of(std::string_view key) {
  std::string name(kVariable);
  for (const char c : key)
    name += c == '.' || c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

EnvironmentSettings environment_settings(std::span<const std::string> environment,
                                         std::span<const CommandPage> pages) {
  const Vocabulary known = vocabulary_of(pages);
  std::set<std::string, std::less<>> repeating;
  for (const CommandPage& page : pages)
    for (const OptionText& option : page.options)
      if (option.repeats) repeating.insert(option.name);
  // Where two keys would have one variable (lab-rate, and rate under lab), it is that of the longer name.
  std::map<std::string, std::string, std::less<>> keys;
  for (int dots = 0; dots <= 2; ++dots)
    for (const auto& [key, may_be_set] : known.keys)
      if (may_be_set && std::ranges::count(key, '.') == dots) keys.emplace(variable_of(key), key);
  std::vector<std::string_view> names;
  for (const auto& [name, key] : keys) names.push_back(name);
  EnvironmentSettings read;
  for (const std::string& entry : environment) {
    const auto equals = entry.find('=');
    if (!entry.starts_with(kVariable) || equals == std::string::npos || equals + 1 == entry.size()) continue;
    const std::string name = entry.substr(0, equals);
    std::string value = outside_text(entry.substr(equals + 1));
    if (std::ranges::count(kOtherVariables, name) > 0) continue;
    const auto key = keys.find(name);
    if (key == keys.end()) {
      read.unknown.push_back(outside_text(name) + did_you_mean(name, names));
      continue;
    }
    Given given{.where = name};
    if (repeating.contains(key->second.substr(key->second.rfind('.') + 1))) {
      for (std::size_t at = 0; (at = value.find_first_not_of(' ', at)) != std::string::npos;) {
        const auto end = std::min(value.find(' ', at), value.size());
        given.values.push_back(value.substr(at, end - at));
        at = end;
      }
    } else {
      given.values = {std::move(value)};
    }
    read.settings.emplace(key->second, std::move(given));
  }
  return read;
}

std::vector<InForce> in_force(const CommandPage& page, std::span<const Settings> sources) {
  std::vector<InForce> all;
  std::map<std::string, std::size_t> last;
  for (const OptionText& option : page.options) {
    InForce found{option, {}, {}};
    for (std::size_t i = 0; i < sources.size(); ++i)
      if (const Given* given = find(sources[i], page, option)) {
        found.layers.push_back(*given);
        last[option.name] = i;
      }
    if (!found.layers.empty()) all.push_back(std::move(found));
  }
  for (const auto& [one, other] : page.alternatives) {
    displace(all, last, one, other);
    displace(all, last, other, one);
  }
  return all;
}

Result<Arguments> as_words(const InForce& option) {
  const Given& given = option.layers.back();
  const std::string& name = option.option.name;
  Arguments words;
  if (option.option.argument.empty()) {
    const auto on = given.values.size() == 1 ? parse_switch(given.values[0]) : std::nullopt;
    if (!on)
      return fail(ErrorKind::usage, "{}: --{} is on or off: expected true or false, found '{}'", given.where,
                  name, fmt::join(given.values, " "));
    if (*on) words.push_back("--" + name);
    return words;
  }
  if (!option.option.repeats && given.values.size() != 1)
    return fail(ErrorKind::usage, "{}: --{} takes one value, found {}", given.where, name,
                given.values.size());
  for (const std::string& value : given.values) words.push_back(fmt::format("--{}={}", name, value));
  return words;
}

}  // namespace weft::cli
