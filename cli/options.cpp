#include "cli/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/program_options/errors.hpp>
#include <boost/program_options/parsers.hpp>
#include <sstream>
#include <typeinfo>
#include <utility>

#include "cli/exit_status.hpp"
#include "cli/help_text.hpp"
#include "topology/base/text.hpp"

namespace weft::cli {
namespace {

constexpr unsigned kUsageIndent = 9;

/// "--lodd" for the unknown option of a program_options error, with the nearest known one.
std::string describe_unknown(const po::unknown_option& error, const po::options_description& options) {
  std::vector<std::string_view> names;
  for (const auto& option : options.options()) names.push_back(option->long_name());
  std::string given = error.get_option_name();
  given.erase(0, given.find_first_not_of('-'));
  const auto best = closest(given, names);
  return fmt::format("unknown option '--{}'{}", given,
                     best ? fmt::format(": did you mean '--{}'?", *best) : "");
}

/// "--qps -1", where an option that counts was not given a count: program_options would wrap it around, and
/// does not say what it expects.
std::optional<std::string> not_a_count(const po::parsed_options& words,
                                       const po::options_description& options) {
  for (const auto& word : words.options) {
    const auto* option = options.find_nothrow(word.string_key, false);
    const auto* kind = option ? dynamic_cast<const po::typed_value_base*>(option->semantic().get()) : nullptr;
    const bool counts =
        kind && (kind->value_type() == typeid(std::uint32_t) || kind->value_type() == typeid(std::uint64_t));
    const auto is_digit = [](char c) { return '0' <= c && c <= '9'; };
    if (counts && !word.value.empty() &&
        (word.value[0].empty() || !std::ranges::all_of(word.value[0], is_digit)))
      return fmt::format("--{} {}", word.string_key, word.value[0]);
  }
  return std::nullopt;
}

}  // namespace

OptionParser::OptionParser(std::string usage, std::string summary, std::string examples)
    : usage_(std::move(usage)),
      summary_(std::move(summary)),
      examples_(std::move(examples)),
      options_("options", kHelpColumns) {
  std::ranges::replace(summary_, '\n', ' ');  // the page breaks it, not the source
}

Result<po::variables_map> OptionParser::parse(const Arguments& arguments) {
  if (!options_.find_nothrow("help", false)) options_.add_options()("help,h", "print this page");
  po::variables_map values;
  try {
    const auto words = po::command_line_parser(arguments).options(options_).positional(positional_).run();
    if (const auto wrong = not_a_count(words, options_))
      return fail(ErrorKind::usage, "{}: expected a number from 0 on", *wrong);
    po::store(words, values);
    po::notify(values);
  } catch (const po::unknown_option& error) {
    return fail(ErrorKind::usage, "{}\nusage: {}", describe_unknown(error, options_), usage_);
  } catch (const po::too_many_positional_options_error&) {
    return fail(ErrorKind::usage, "too many words without an option's name in '{}'\nusage: {}",
                fmt::join(arguments, " "), usage_);
  } catch (const po::error& error) {
    return fail(ErrorKind::usage, "{}\nusage: {}", error.what(), usage_);
  }
  if (help_was_asked(values)) {
    std::ostringstream table;
    table << options_;
    fmt::print("{}\n\n{}\n\n{}\nexamples:\n{}", fit_prose(summary_),
               fit_prose("usage: " + usage_, kUsageIndent), table.str(), fit_commands(examples_));
  }
  return values;
}

Result<files::FabricFile> load_fabric_file(const std::string& path) {
  auto file = files::read_fabric_file(path);
  if (file) print_remarks(*file);
  return file;
}

void print_remarks(const files::FabricFile& file) {
  constexpr std::size_t kMaxShown = 4;
  const auto shown = std::min(file.remarks.size(), kMaxShown);
  for (std::size_t i = 0; i < shown; ++i) print_stderr("note: {}\n", file.remarks[i]);
  if (file.remarks.size() > shown)
    print_stderr("note: {} more: weft topology discover --dump DUMP prints them\n",
                 file.remarks.size() - shown);
}

std::optional<std::string> text_option(const po::variables_map& values, const char* name) {
  return values.count(name) ? std::optional(values[name].as<std::string>()) : std::nullopt;
}

void add_output_option(po::options_description& options) {
  options.add_options()("output,o", po::value<std::string>()->value_name("FORMAT")->default_value("table"),
                        "table for people, json for programs");
}

void add_rows_option(po::options_description& options) {
  options.add_options()(
      "output,o", po::value<std::string>()->value_name("FORMAT")->default_value("table"),
      "table for people, json for programs; jsonl or csv: one row a line (columns: docs/schema/README.md)");
}

Result<OutputFormat> read_output_format(const po::variables_map& values) {
  const auto word = values["output"].as<std::string>();
  constexpr std::array kFormats{std::pair("table", OutputFormat::table),
                                std::pair("json", OutputFormat::json),
                                std::pair("jsonl", OutputFormat::jsonl), std::pair("csv", OutputFormat::csv)};
  for (const auto& [name, format] : kFormats)
    if (word == name) return format;
  return fail(ErrorKind::usage, "-o {}: expected table, json, jsonl or csv", word);
}

Result<bool> wants_json(const po::variables_map& values) {
  const auto format = values["output"].as<std::string>();
  if (format != "table" && format != "json")
    return fail(ErrorKind::usage, "-o {}: expected table or json", format);
  return format == "json";
}

}  // namespace weft::cli
