// Configuration: options that stand in files and variables instead of on the command line. A source gives
// values to keys: `budget` is that option of every command, `sweep.budget` of one, `lab.up.name` of one of a
// group. Of one source the most specific key counts, of two sources the later one. Pure.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "cli/pages.hpp"

namespace weft::cli {

struct Given {
  std::vector<std::string> values;  // several: of an option that repeats
  std::string where;                // "/etc/weft/weft.yaml:3", "WEFT_BUDGET", "command line"
};
using Settings = std::map<std::string, Given>;  // by key

/// The text of a file: `key: value` for all commands, and sections by command. An Error names file, line and
/// the nearest option.
Result<Settings> parse_configuration(std::string_view text, std::string_view file,
                                     std::span<const CommandPage> pages);

struct EnvironmentSettings {
  Settings settings;
  std::vector<std::string> unknown;  // variables that begin like ours, each with what may be meant
};
/// `environment`: NAME=VALUE each. WEFT_BUDGET is `budget`, WEFT_SWEEP_BUDGET `sweep.budget`; an empty one is
/// none. Options that repeat take several values, parted by spaces.
EnvironmentSettings environment_settings(std::span<const std::string> environment,
                                         std::span<const CommandPage> pages);
/// The variable of a key.
std::string variable_of(std::string_view key);

/// An option of a command and who gives it a value: the last is in force, unless `displaced` says what does
/// not go with it and was said later.
struct InForce {
  OptionText option;
  std::vector<Given> layers;  // in the order of the sources
  std::optional<std::string> displaced;
};

/// The options of one command that any source sets. `sources` in their order: files, variables, command line.
std::vector<InForce> in_force(const CommandPage& page, std::span<const Settings> sources);

/// As words of a command line: `--budget=60s`, `--all`; none for a flag that is off. Error: a value that is
/// neither on nor off for a flag, or several for an option that takes one.
Result<Arguments> as_words(const InForce& option);

}  // namespace weft::cli
