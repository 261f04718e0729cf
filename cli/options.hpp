// Parsing of one command's words with Boost.Program_options, with weft's conventions: every option has a
// text, a mistyped one is answered with the nearest, --help prints the command's own page. Usage:
//
//   OptionParser parser("weft sweep", "weft sweep (--lab=N | --fabric FABRIC.yaml) [options]", kExamples);
//   parser.options().add_options()("lab", po::value<std::string>()->implicit_value("default"), "the lab to
//   sweep"); parser.positional("fabric", 1); const auto values = parser.parse(arguments); if (!values) return
//   report(values.error()); if (parser.help_was_asked(*values)) return kExitHealthy;   // printed already
#pragma once

#include <boost/program_options/options_description.hpp>
#include <boost/program_options/positional_options.hpp>
#include <boost/program_options/value_semantic.hpp>
#include <boost/program_options/variables_map.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.hpp"
#include "topology/base/result.hpp"
#include "topology/files/fabric_file.hpp"

namespace weft::cli {

namespace po = boost::program_options;

class OptionParser {
 public:
  /// `usage` is the line after "usage: "; `examples` stands at the end of the help page.
  OptionParser(std::string usage, std::string summary, std::string examples);

  po::options_description& options() { return options_; }
  /// Words without a dash go to this option, `most` of them (-1: all the rest).
  void positional(const std::string& name, int most) { positional_.add(name.c_str(), most); }

  /// The values; prints the help page on stdout when it was asked for.
  Result<po::variables_map> parse(const Arguments& arguments);
  static bool help_was_asked(const po::variables_map& values) { return values.count("help") != 0; }

 private:
  std::string usage_;
  std::string summary_;
  std::string examples_;
  po::options_description options_;
  po::positional_options_description positional_;
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
