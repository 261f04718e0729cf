#include "cli/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/program_options/cmdline.hpp>
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

/// Of "TIME (=15s)" or "[=NAME(=default)]", as program_options writes them: the name and the default.
void describe_argument(const po::value_semantic& semantic, OptionText& text) {
  const std::string all = semantic.name();
  std::string_view shown = all;
  constexpr std::string_view kOpen = "[=";
  constexpr std::string_view kUsual = "(=";
  text.argument_open = shown.starts_with(kOpen);
  if (text.argument_open) {
    const auto end = shown.find(")]");
    text.argument = shown.substr(kOpen.size(), shown.find(kUsual) - kOpen.size());
    shown.remove_prefix(std::min(end, shown.size()));
  } else {
    text.argument = shown.substr(0, shown.find(" (="));
  }
  if (const auto at = shown.find(" (="); at != std::string_view::npos)
    text.usual = std::string(shown.substr(at + 3, shown.size() - at - 4));
}

/// What is wrong, and how the command is used, in lines for a terminal.
tl::unexpected<Error> misused(std::string_view what, const std::string& usage) {
  return fail(ErrorKind::usage, "{}\n{}", what, fit_prose("usage: " + usage, kUsageIndent));
}

/// The words as program_options reads them; an Error that says what is wrong and how the command is used.
Result<po::parsed_options> words_of(const Arguments& arguments, const po::options_description& all,
                                    const po::positional_options_description& positional,
                                    const std::string& usage) {
  try {
    auto words = po::command_line_parser(arguments).options(all).positional(positional).run();
    if (const auto wrong = not_a_count(words, all))
      return fail(ErrorKind::usage, "{}: expected a number from 0 on", *wrong);
    return words;
  } catch (const po::unknown_option& error) {
    return misused(describe_unknown(error, all), usage);
  } catch (const po::too_many_positional_options_error&) {
    return misused(fmt::format("too many words without an option's name in '{}'", fmt::join(arguments, " ")),
                   usage);
  } catch (const po::error& error) {
    return misused(error.what(), usage);
  }
}

}  // namespace

std::string_view caption(Group group) {
  switch (group) {
    case Group::unlisted:
      return "not supported yet";
    case Group::what:
      return "what";
    case Group::how_much:
      return "how much";
    case Group::how:
      return "how";
    case Group::job:
      return "traffic of a job";
    case Group::rdma:
      return "RDMA";
    case Group::infiniband:
      return "InfiniBand";
    case Group::kubernetes:
      return "Kubernetes";
    case Group::ufm:
      return "UFM";
    case Group::switches:
      return "SONiC, Cumulus";
    case Group::cluster:
      return "cluster";
    case Group::output:
      return "output";
    case Group::configuration:
      return "help and configuration";
  }
  return "";
}

OptionParser::OptionParser(std::string usage, std::string summary, std::string examples)
    : usage_(std::move(usage)), summary_(std::move(summary)), examples_(std::move(examples)) {
  std::ranges::replace(summary_, '\n', ' ');  // the page breaks it, not the source
}

po::options_description& OptionParser::options(Group group) {
  return groups_.try_emplace(group, std::string(caption(group)), kHelpColumns).first->second;
}

void OptionParser::command_line_only(std::vector<std::string> names) {
  std::ranges::move(names, std::back_inserter(command_line_only_));
}

void OptionParser::own_section_only(std::vector<std::string> names) {
  std::ranges::move(names, std::back_inserter(own_section_only_));
}

void OptionParser::either(std::vector<std::string> one, std::vector<std::string> other) {
  alternatives_.emplace_back(std::move(one), std::move(other));
}

po::options_description OptionParser::listed_options() const {
  po::options_description all("", kHelpColumns);
  for (const auto& [group, options] : groups_)
    if (group != Group::unlisted && !options.options().empty()) all.add(options);
  po::options_description last(std::string(caption(Group::configuration)), kHelpColumns);
  last.add_options()("help,h", "print this page");
  if (takes_configuration_)
    last.add_options()("config", po::value<std::string>()->value_name("FILE"),
                       "options from this file alone (see weft config)")(
        "no-config", "neither configuration files nor WEFT_* variables");
  all.add(last);
  return all;
}

po::options_description OptionParser::all_options() const {
  auto all = listed_options();
  if (const auto unlisted = groups_.find(Group::unlisted); unlisted != groups_.end())
    all.add(unlisted->second);
  return all;
}

Result<std::map<std::string, std::vector<std::string>>> OptionParser::given(
    const Arguments& arguments) const {
  const auto all = all_options();
  WEFT_TRY(const auto words, words_of(arguments, all, positional_, usage_));
  std::map<std::string, std::vector<std::string>> found;
  for (const auto& word : words.options) {
    auto& values = found[word.string_key];
    values.insert(values.end(), word.value.begin(), word.value.end());
  }
  return found;
}

Result<po::variables_map> OptionParser::parse(const Arguments& arguments) const {
  const auto all = all_options();
  WEFT_TRY(const auto words, words_of(arguments, all, positional_, usage_));
  po::variables_map values;
  try {
    po::store(words, values);
    po::notify(values);
  } catch (const po::error& error) {
    return misused(error.what(), usage_);
  }
  if (help_was_asked(values)) fmt::print("{}", help_page());
  return values;
}

std::string OptionParser::help_page() const {
  std::ostringstream table;
  table << listed_options();
  return fmt::format("{}\n\n{}\n{}\nexamples:\n{}", fit_prose(summary_),
                     fit_prose("usage: " + usage_, kUsageIndent), table.str(), fit_commands(examples_));
}

std::vector<OptionText> OptionParser::texts() const {
  std::vector<OptionText> texts;
  const auto all = listed_options();
  const auto group_of = [&](const std::string& name) {
    for (const auto& [group, options] : groups_)
      if (options.find_nothrow(name, false)) return group;
    return Group::configuration;
  };
  for (const auto& option : all.options()) {
    OptionText text{.name = option->long_name(), .text = option->description()};
    if (const auto shown = option->canonical_display_name(po::command_line_style::allow_dash_for_short);
        shown.size() == 2 && shown[0] == '-')
      text.letter = shown.substr(1);
    text.group = group_of(text.name);
    text.command_line_only = std::ranges::count(command_line_only_, text.name) > 0;
    text.own_section_only = std::ranges::count(own_section_only_, text.name) > 0;
    const auto& semantic = *option->semantic();
    if (semantic.max_tokens() > 0) describe_argument(semantic, text);
    const auto* kind = dynamic_cast<const po::typed_value_base*>(&semantic);
    text.repeats = kind && kind->value_type() == typeid(std::vector<std::string>);
    texts.push_back(std::move(text));
  }
  return texts;
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

namespace {

/// The exit status of what is not work: help, or a command line that does not read.
std::optional<int> status_without_work(const Result<po::variables_map>& values) {
  if (!values) return report(values.error());
  if (OptionParser::help_was_asked(*values)) return kExitHealthy;
  return std::nullopt;
}

}  // namespace

int run_command(const OptionParser& parser, const Arguments& arguments,
                Result<void> (*work)(const po::variables_map&)) {
  const auto values = parser.parse(arguments);
  if (const auto status = status_without_work(values)) return *status;
  const auto done = work(*values);
  return done ? kExitHealthy : report(done.error());
}

int run_command(const OptionParser& parser, const Arguments& arguments,
                Result<int> (*work)(const po::variables_map&)) {
  const auto values = parser.parse(arguments);
  if (const auto status = status_without_work(values)) return *status;
  const auto done = work(*values);
  return done ? *done : report(done.error());
}

std::optional<std::string> text_option(const po::variables_map& values, const char* name) {
  return values.count(name) ? std::optional(values[name].as<std::string>()) : std::nullopt;
}

void add_output_option(po::options_description& options) {
  options.add_options()("output,o",
                        po::value<std::string>()->value_name("table|json")->default_value("table"),
                        "table for people, json for programs");
}

void add_rows_option(po::options_description& options) {
  options.add_options()(
      "output,o", po::value<std::string>()->value_name("table|json|jsonl|csv")->default_value("table"),
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
