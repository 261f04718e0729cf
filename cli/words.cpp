#include "cli/words.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/exit_status.hpp"
#include "cli/help_text.hpp"
#include "topology/base/text.hpp"

namespace weft::cli {
namespace {

constexpr unsigned kSummaryColumn = 14;

void print_help(const WordGroup& group) {
  fmt::print("{}\n\nusage: weft {} WORD [OPTIONS]\n       weft {} WORD --help\n\nwords:\n",
             fit_prose(group.summary), group.name, group.name);
  for (const Command& word : group.words)
    if (!word.hidden)
      fmt::print("{}\n", fit_prose(fmt::format("  {:<12}{}", word.name, word.summary), kSummaryColumn));
  fmt::print("\nexamples:\n{}", fit_commands(group.examples));
}

}  // namespace

int run_word(const WordGroup& group, const Arguments& arguments) {
  std::vector<std::string_view> names;
  for (const Command& word : group.words)
    if (!word.hidden) names.push_back(word.name);
  if (arguments.empty()) {
    print_stderr("weft: {}: expected one of {}\ntry: weft {} --help\n", group.name, fmt::join(names, ", "),
                 group.name);
    return kExitUsage;
  }
  if (arguments[0] == "--help" || arguments[0] == "-h") return print_help(group), kExitHealthy;
  const auto word = std::ranges::find(group.words, arguments[0], &Command::name);
  if (word != group.words.end()) return word->run(Arguments(arguments.begin() + 1, arguments.end()));
  print_stderr("weft: unknown word '{} {}'{}\ntry: weft {} --help\n", group.name, arguments[0],
               did_you_mean(arguments[0], names), group.name);
  return kExitUsage;
}

}  // namespace weft::cli
