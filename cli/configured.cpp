#include "cli/configured.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "cli/words.hpp"
#include "topology/files/file_text.hpp"

namespace weft::cli {
namespace {

constexpr Bytes kMaxFileBytes(1'000'000);

std::optional<std::string> variable(const ConfigurationPlaces& places, std::string_view name) {
  for (const std::string& entry : places.environment)
    if (entry.starts_with(name) && entry.size() > name.size() + 1 && entry[name.size()] == '=')
      return entry.substr(name.size() + 1);
  return std::nullopt;
}

/// Absent where neither variable names a folder.
std::optional<std::string> users_file(const ConfigurationPlaces& places) {
  constexpr const char* kFile = "/weft/weft.yaml";
  if (const auto folder = variable(places, "XDG_CONFIG_HOME"); folder && folder->starts_with('/'))
    return *folder + kFile;
  if (const auto home = variable(places, "HOME"); home && home->starts_with('/'))
    return *home + "/.config" + kFile;
  return std::nullopt;
}

/// "not there", where nothing is, or nothing that this user can reach; absent: it is to be read.
std::optional<std::string> why_not_read(const std::string& path) {
  std::error_code error;
  const bool there = std::filesystem::exists(path, error);
  if (error) return "cannot be reached: " + error.message();
  if (!there) return "not there";
  return std::nullopt;
}

Result<std::string> text_of(const std::string& path) {
  const auto text = files::read_text_file(path, kMaxFileBytes);
  if (!text)
    return fail(text.error().kind, "{}\nmend it, or leave it out: --no-config, --config FILE",
                text.error().message);
  return *text;
}

bool is_switched_off(const Settings& given, const ConfigurationPlaces& places) {
  return given.contains("no-config") || variable(places, "WEFT_NO_CONFIG").has_value();
}

bool has_our_variables(const ConfigurationPlaces& places) {
  return std::ranges::any_of(places.environment,
                             [](const std::string& entry) { return entry.starts_with("WEFT_"); });
}

/// The files to read; an asked one must be there.
Result<std::vector<ConfigurationFile>> files_of(const Settings& given, const ConfigurationPlaces& places) {
  std::vector<ConfigurationFile> files;
  auto asked = variable(places, "WEFT_CONFIG");
  if (const auto found = given.find("config"); found != given.end()) asked = found->second.values.back();
  if (asked) {
    if (const auto why = why_not_read(*asked))
      return fail(ErrorKind::not_found, "--config {}: {}", *asked, *why);
    return std::vector{ConfigurationFile{*asked, ""}};
  }
  files.push_back({places.system_file, why_not_read(places.system_file).value_or("")});
  if (const auto users = users_file(places)) files.push_back({*users, why_not_read(*users).value_or("")});
  return files;
}

/// Weft starts agents with all that they need on their command line, and the configuration of a host changes
/// no run; one that stands by a credential is the site's own.
bool is_complete(const Command& command, const std::map<std::string, std::vector<std::string>>& given) {
  return command.name == "agent" && !given.contains("credential");
}

}  // namespace

ConfigurationPlaces usual_places() {
  ConfigurationPlaces places;
  for (char** entry = environ; entry && *entry; ++entry) places.environment.emplace_back(*entry);
  return places;
}

Result<Configuration> load_configuration(const Settings& given, const ConfigurationPlaces& places) {
  Configuration configuration;
  if (is_switched_off(given, places)) return configuration;
  WEFT_TRY(configuration.files, files_of(given, places));
  const bool any_file = std::ranges::any_of(configuration.files,
                                            [](const ConfigurationFile& file) { return file.state.empty(); });
  if (!any_file && !has_our_variables(places)) return configuration;
  const auto pages = command_pages();
  for (ConfigurationFile& file : configuration.files) {
    if (!file.state.empty()) continue;
    WEFT_TRY(const auto text, text_of(file.path));
    WEFT_TRY(auto settings, parse_configuration(text, file.path, pages));
    file.state = "read";
    configuration.sources.push_back(std::move(settings));
  }
  auto variables = environment_settings(places.environment, pages);
  configuration.sources.push_back(std::move(variables.settings));
  configuration.unknown_variables = std::move(variables.unknown);
  return configuration;
}

Settings as_settings(const CommandPage& page, const std::map<std::string, std::vector<std::string>>& given) {
  Settings settings;
  for (const auto& [name, values] : given) settings[page.key() + "." + name] = {values, "command line"};
  return settings;
}

Result<ConfiguredLine> with_configuration(const Arguments& line, const ConfigurationPlaces& places) {
  ConfiguredLine configured{line, {}};
  const auto [command, words] = find_command(line);
  if (!command) return configured;
  const OptionParser parser = command->options();
  if (!parser.takes_configuration()) return configured;
  const auto name_end = line.begin() + static_cast<std::ptrdiff_t>(words);
  const auto given = parser.given(Arguments(name_end, std::find(name_end, line.end(), "--")));
  if (!given || given->contains("help")) return configured;  // the command itself says what is wrong
  if (is_complete(*command, *given)) return configured;
  Settings asked;
  for (const auto& [name, values] : *given) asked[name] = {values, "command line"};
  WEFT_TRY(auto configuration, load_configuration(asked, places));
  if (configuration.sources.empty()) return configured;
  const CommandPage page = page_of(*command, Arguments(line.begin(), name_end));
  configuration.sources.push_back(as_settings(page, *given));
  Arguments added;
  for (const InForce& option : in_force(page, configuration.sources)) {
    if (given->contains(option.option.name) || option.displaced || option.option.command_line_only) continue;
    WEFT_TRY(const auto more, as_words(option));
    for (const std::string& word : more) {
      added.push_back(word);
      configured.added.push_back(fmt::format("{} ({})", word, option.layers.back().where));
    }
  }
  configured.words.insert(configured.words.begin() + static_cast<std::ptrdiff_t>(words), added.begin(),
                          added.end());
  return configured;
}

}  // namespace weft::cli
