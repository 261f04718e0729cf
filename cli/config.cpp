// `weft config`: which options files and variables set, for which command, and what each of them overrides.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/configured.hpp"
#include "cli/exit_status.hpp"
#include "cli/help_text.hpp"
#include "cli/stamp.hpp"
#include "topology/base/text.hpp"
#include "topology/files/json_text.hpp"

namespace weft::cli {
namespace {

constexpr const char* kExamples =
    "  weft config                  # what files and variables set\n"
    "  weft config sweep            # of one command, with the defaults of all others\n"
    "  WEFT_SWEEP_BUDGET=60s weft config sweep -o json\n"
    "  weft config --config site.yaml topology show\n";

/// An option of a command in the list: set by a source, or (`layers` empty) with its default.
struct Row {
  std::string command;
  InForce option;
};

using Words = std::vector<std::string>;

Words asked_words(const po::variables_map& values) {
  return values.count("command") ? values["command"].as<Words>() : Words{};
}

/// The pages of the command named, of a group all its words'; all where none is named.
Result<std::vector<CommandPage>> chosen_pages(const Words& words) {
  auto pages = command_pages();
  std::vector<std::string> titles;
  for (const CommandPage& page : pages) titles.push_back(page.title());
  std::erase_if(pages, [&](const CommandPage& page) {
    return page.words.size() < words.size() || !std::equal(words.begin(), words.end(), page.words.begin());
  });
  if (!pages.empty()) return pages;
  const std::vector<std::string_view> names(titles.begin(), titles.end());
  const std::string asked = fmt::format("{}", fmt::join(words, " "));
  return fail(ErrorKind::usage, "no command is called '{}'{}", asked, did_you_mean(asked, names));
}

std::vector<Row> rows_of(const std::vector<CommandPage>& pages, const Configuration& configuration,
                         bool with_defaults) {
  std::vector<Row> rows;
  for (const CommandPage& page : pages) {
    if (!page.takes_configuration) continue;
    const auto set = in_force(page, configuration.sources);
    for (const OptionText& option : page.options) {
      const auto found =
          std::ranges::find(set, option.name, [](const InForce& one) { return one.option.name; });
      if (found != set.end())
        rows.push_back({page.title(), *found});
      else if (with_defaults && !option.command_line_only)
        rows.push_back({page.title(), {option, {}, {}}});
    }
  }
  return rows;
}

std::string shown_value(const std::vector<std::string>& values) {
  return fmt::format("{}", fmt::join(values, " "));
}

std::string shown_default(const OptionText& option) {
  if (option.argument.empty()) return "off";
  return option.usual.value_or("not set");
}

void print_row(const Row& row) {
  constexpr std::size_t kIndent = 6;
  const auto line = [&](const std::string& text) { fmt::print("{}", wrapped(text, kIndent, kHelpColumns)); };
  const auto& [option, layers, displaced] = row.option;
  fmt::print("{}",
             wrapped(fmt::format("--{} {}", option.name,
                                 layers.empty() ? shown_default(option) : shown_value(layers.back().values)),
                     2, kHelpColumns));
  if (layers.empty()) return line("default");
  line("from " + layers.back().where);
  for (auto layer = layers.rbegin() + 1; layer != layers.rend(); ++layer)
    line(fmt::format("instead of {} from {}", shown_value(layer->values), layer->where));
  if (option.usual) line(fmt::format("instead of {}, the default", *option.usual));
  if (displaced)
    line(fmt::format("not in force: --{} was said later, and they do not go together", *displaced));
}

void print_table(const Configuration& configuration, const std::vector<Row>& rows) {
  if (configuration.files.empty()) fmt::print("no configuration file is read\n");
  for (const ConfigurationFile& file : configuration.files)
    fmt::print("{}", wrapped(fmt::format("{}: {}", file.path, file.state), 0, kHelpColumns));
  for (const std::string& name : configuration.unknown_variables)
    fmt::print("{}", wrapped("unknown variable " + name, 0, kHelpColumns));
  std::string command;
  for (const Row& row : rows) {
    if (row.command != command) fmt::print("\nweft {}\n", row.command);
    command = row.command;
    print_row(row);
  }
  if (rows.empty()) fmt::print("no file and no variable sets an option\n");
}

files::DocumentTree tree_of(const Given& given) { return {{"values", given.values}, {"from", given.where}}; }

void print_document(const Configuration& configuration, const std::vector<Row>& rows) {
  files::DocumentTree json = files::stamped_tree("weft.config/1", stamp_now());
  auto& files = json["files"] = files::DocumentTree::array();
  for (const ConfigurationFile& file : configuration.files)
    files.push_back({{"path", file.path}, {"state", file.state}});
  json["unknown_variables"] = configuration.unknown_variables;
  auto& options = json["options"] = files::DocumentTree::array();
  for (const auto& [command, row] : rows) {
    files::DocumentTree one{{"command", command}, {"option", row.option.name}};
    if (!row.layers.empty()) {
      one["values"] = row.layers.back().values;
      one["from"] = row.layers.back().where;
    } else {
      if (row.option.usual) one["values"] = {*row.option.usual};
      one["from"] = "default";
    }
    auto& overrides = one["overrides"] = files::DocumentTree::array();
    for (auto layer = row.layers.rbegin(); layer != row.layers.rend(); ++layer)
      if (layer != row.layers.rbegin()) overrides.push_back(tree_of(*layer));
    if (row.displaced) one["displaced_by"] = *row.displaced;
    options.push_back(std::move(one));
  }
  fmt::print("{}\n", files::document_text(json));
}

Result<void> show(const po::variables_map& values) {
  WEFT_TRY(const auto json, wants_json(values));
  const auto words = asked_words(values);
  WEFT_TRY(const auto pages, chosen_pages(words));
  Settings asked;
  if (const auto file = text_option(values, "config")) asked["config"] = {{*file}, "command line"};
  if (values.count("no-config")) asked["no-config"] = {{}, "command line"};
  WEFT_TRY(const auto configuration, load_configuration(asked, usual_places()));
  const auto rows = rows_of(pages, configuration, !words.empty());
  if (json)
    print_document(configuration, rows);
  else
    print_table(configuration, rows);
  return {};
}

}  // namespace

OptionParser config_options() {
  OptionParser parser(
      "weft config [COMMAND [WORD]] [-o table|json]",
      "Shows which options configuration files and WEFT_* variables set, from where, and what "
      "each overrides. With a command also the defaults of all its other options.",
      kExamples);
  parser.options().add_options()("command", po::value<Words>()->value_name("COMMAND"),
                                 "only of this command, as sweep or topology show");
  parser.positional("command", 2);
  parser.command_line_only({"command"});
  add_output_option(parser.options(Group::output));
  return parser;
}

int config_command(const Arguments& arguments) {
  const auto parser = config_options();
  const auto values = parser.parse(arguments);
  if (!values) return report(values.error());
  if (OptionParser::help_was_asked(*values)) return kExitHealthy;
  const auto shown = show(*values);
  return shown ? kExitHealthy : report(shown.error());
}

}  // namespace weft::cli
