// Parsing of one command's words with Boost.Program_options, with weft's conventions: every option has a
// text, a mistyped one is answered with the nearest, --help prints the command's own page. A command's
// parser is made by a function of its own (sweep_options), which its line in a table of commands names: help,
// manual pages, completion and configuration are made of it (cli/pages.hpp). Usage:
//
//   OptionParser parser("weft sweep (--lab=N | --fabric FABRIC.yaml) [options]", "Maps every ...",
//   kExamples); parser.options(Group::how_much).add_options()("load",
//   po::value<std::string>()->value_name("none|full"),
//   "..."); parser.positional("fabric", 1); const auto values = parser.parse(arguments); if (!values) return
//   report(values.error()); if (parser.help_was_asked(*values)) return kExitHealthy;   // printed already
//
// The name of a value says what it may be: `none|full` these words, `FILE` and `FABRIC.yaml` a file.
#pragma once

#include <boost/program_options/options_description.hpp>
#include <boost/program_options/positional_options.hpp>
#include <boost/program_options/value_semantic.hpp>
#include <boost/program_options/variables_map.hpp>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.hpp"
#include "topology/base/result.hpp"
#include "topology/files/fabric_file.hpp"

namespace weft::cli {

namespace po = boost::program_options;

/// The sections of a help page, in its order. `unlisted`: understood, and in no list: what is not supported
/// yet.
enum class Group {
  unlisted,
  what,
  how_much,
  how,
  job,
  rdma,
  infiniband,
  kubernetes,
  ufm,
  switches,
  cluster,
  output,
  configuration
};
std::string_view caption(Group group);

/// One option as a value.
struct OptionText {
  std::string name;
  std::string letter;  // "o"; empty: none
  Group group = Group::what;
  std::string argument;        // the name of its value; empty: it takes none
  bool argument_open = false;  // the value may be left out; else it is written with =
  bool repeats = false;        // it may be given several times
  bool command_line_only = false;
  bool own_section_only = false;
  std::optional<std::string> usual;  // the value where none is given, as it is written
  std::string text;
};

class OptionParser {
 public:
  /// `usage` is the line after "usage: "; `examples` stands at the end of the help page.
  OptionParser(std::string usage, std::string summary, std::string examples);

  po::options_description& options(Group group = Group::what);
  /// Words without a dash go to this option, `most` of them (-1: all the rest).
  void positional(const std::string& name, int most) { positional_.add(name.c_str(), most); }
  /// No file and no variable sets these: what they do is asked for each time.
  void command_line_only(std::vector<std::string> names);
  /// A file sets these under the name of this command alone, a variable with it in its name: what other
  /// commands mean by an option of that name is not for this one.
  void own_section_only(std::vector<std::string> names);
  /// The command line is complete: no file and no variable adds to it.
  void without_configuration() { takes_configuration_ = false; }
  /// Options of these two lists do not go together. Those of a later source stand then, and the other list's
  /// of earlier ones do not.
  void either(std::vector<std::string> one, std::vector<std::string> other);

  /// The values; prints the help page on stdout when it was asked for.
  Result<po::variables_map> parse(const Arguments& arguments) const;
  static bool help_was_asked(const po::variables_map& values) { return values.count("help") != 0; }
  /// What stands on a command line, without defaults; an Error where parse would give one for its form.
  Result<std::map<std::string, std::vector<std::string>>> given(const Arguments& arguments) const;

  const std::string& usage() const { return usage_; }
  const std::string& summary() const { return summary_; }
  const std::string& examples() const { return examples_; }
  bool takes_configuration() const { return takes_configuration_; }
  using Alternatives = std::pair<std::vector<std::string>, std::vector<std::string>>;
  const std::vector<Alternatives>& alternatives() const { return alternatives_; }
  std::vector<OptionText> texts() const;  // in the order of the help page
  std::string help_page() const;

 private:
  /// All groups, with --help and, where it applies, --config and --no-config.
  po::options_description listed_options() const;
  po::options_description all_options() const;  // the unlisted too

  std::string usage_;
  std::string summary_;
  std::string examples_;
  std::map<Group, po::options_description> groups_;
  po::positional_options_description positional_;
  std::vector<std::string> command_line_only_{"help", "config", "no-config"};
  std::vector<std::string> own_section_only_;
  std::vector<Alternatives> alternatives_;
  bool takes_configuration_ = true;
};

/// The value of an option read with `read` (as parse_bandwidth); absent when not given, an Error naming the
/// option when it does not read.
template <class T>
Result<std::optional<T>> read_option(const po::variables_map& values, const char* name,
                                     Result<T> (*read)(std::string_view)) {
  if (!values.count(name)) return std::optional<T>();
  const auto value = read(values[name].as<std::string>());
  if (!value) return fail(ErrorKind::usage, "--{}: {}", name, value.error().message);
  return std::optional<T>(*value);
}

/// A fabric file; what is odd in a dump that it imports is said on stderr.
Result<files::FabricFile> load_fabric_file(const std::string& path);
void print_remarks(const files::FabricFile& file);

/// A command that prints its answer itself: parses, works, reports; its exit status.
int run_command(const OptionParser& parser, const Arguments& arguments,
                Result<void> (*work)(const po::variables_map&));

/// The same of a command whose answer has an exit status of its own.
int run_command(const OptionParser& parser, const Arguments& arguments,
                Result<int> (*work)(const po::variables_map&));

/// A text option; absent when not given.
std::optional<std::string> text_option(const po::variables_map& values, const char* name);

/// Of what has many rows: also a row a line.
enum class OutputFormat { table, json, jsonl, csv };
void add_rows_option(po::options_description& options);
Result<OutputFormat> read_output_format(const po::variables_map& values);

/// True for `-o json`, false for a table; an Error for any other format. Add the option with
/// add_output_option.
void add_output_option(po::options_description& options);
Result<bool> wants_json(const po::variables_map& values);

/// The version of this program, as "0.1.0".
std::string_view tool_version();

}  // namespace weft::cli
