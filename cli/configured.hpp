// Where a configuration stands on this machine, and a command line with what it adds. The sources, each after
// the one that it goes before: /etc/weft/weft.yaml, weft/weft.yaml under XDG_CONFIG_HOME (~/.config), WEFT_*
// variables, the command line. `--config FILE` stands for both files; `--no-config`: none but the command
// line.
#pragma once

#include "cli/configuration.hpp"

namespace weft::cli {

struct ConfigurationPlaces {
  std::string system_file = "/etc/weft/weft.yaml";
  std::vector<std::string> environment;  // NAME=VALUE
};
/// Of this process.
ConfigurationPlaces usual_places();

struct ConfigurationFile {
  std::string path;
  std::string state;  // "read", "not there", ...
};

struct Configuration {
  std::vector<ConfigurationFile> files;
  std::vector<Settings> sources;  // of the files, then of the variables
  std::vector<std::string> unknown_variables;
};

/// What `given` asks for by --config and --no-config, or else the variables WEFT_CONFIG and WEFT_NO_CONFIG.
/// Error: a file that is there and cannot be read, or holds what no command knows.
Result<Configuration> load_configuration(const Settings& given, const ConfigurationPlaces& places);

/// What stands on the command line, as a source of this command: keys as `sweep.budget`.
Settings as_settings(const CommandPage& page, const std::map<std::string, std::vector<std::string>>& given);

struct ConfiguredLine {
  Arguments words;                 // with what the configuration adds, after the command's name
  std::vector<std::string> added;  // "--budget=60s (/etc/weft/weft.yaml:3)"
};
/// The line itself where its command takes no configuration, is asked for its help, or is none.
Result<ConfiguredLine> with_configuration(const Arguments& line, const ConfigurationPlaces& places);

}  // namespace weft::cli
