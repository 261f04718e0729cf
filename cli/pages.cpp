#include "cli/pages.hpp"

#include <algorithm>
#include <cctype>

#include "cli/words.hpp"

namespace weft::cli {
namespace {

bool is_upper(char c) { return std::isupper(static_cast<unsigned char>(c)) != 0; }

CommandPage group_page(const Command& command) {
  const WordGroup& group = command.words();
  const std::string name(command.name);
  return {.words = {name},
          .summary = std::string(command.summary),
          .about = std::string(group.summary),
          .usage = "weft " + name + " WORD [OPTIONS]",
          .examples = std::string(group.examples),
          .takes_configuration = false,
          .group = true};
}

}  // namespace

std::string CommandPage::key() const { return fmt::format("{}", fmt::join(words, ".")); }
std::string CommandPage::title() const { return fmt::format("{}", fmt::join(words, " ")); }

CommandPage page_of(const Command& command, std::vector<std::string> words) {
  const OptionParser parser = command.options();
  return {.words = std::move(words),
          .summary = std::string(command.summary),
          .about = parser.summary(),
          .usage = parser.usage(),
          .examples = parser.examples(),
          .takes_configuration = parser.takes_configuration(),
          .options = parser.texts(),
          .alternatives = parser.alternatives()};
}

std::vector<CommandPage> command_pages() {
  std::vector<CommandPage> pages;
  for (const Command& command : commands()) {
    if (command.hidden) continue;
    if (command.options) pages.push_back(page_of(command, {std::string(command.name)}));
    if (!command.words) continue;
    if (!command.options) pages.push_back(group_page(command));
    for (const Command& word : command.words().words)
      if (!word.hidden && word.options)
        pages.push_back(page_of(word, {std::string(command.name), std::string(word.name)}));
  }
  return pages;
}

FoundCommand find_command(const Arguments& line) {
  std::span<const Command> among = commands();
  for (std::size_t depth = 0; depth < line.size() && depth < 2; ++depth) {
    const auto found = std::ranges::find(among, line[depth], &Command::name);
    if (found == among.end() || found->hidden) return {};
    const auto words = found->words ? found->words().words : std::span<const Command>();
    const bool names_word =
        depth + 1 < line.size() && std::ranges::find(words, line[depth + 1], &Command::name) != words.end();
    if (found->options && !names_word) return {&*found, depth + 1};
    if (words.empty()) return {};
    among = words;
  }
  return {};
}

std::vector<std::string> allowed_words(const OptionText& option) {
  std::vector<std::string> words;
  std::string_view rest = option.argument;
  if (rest.empty() || (rest.find('|') == std::string_view::npos && is_upper(rest[0]))) return words;
  while (!rest.empty()) {
    const auto word = rest.substr(0, rest.find('|'));
    if (!word.empty() && !is_upper(word[0])) words.emplace_back(word);
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
  }
  return words;
}

bool names_a_file(const OptionText& option) {
  return option.argument == "FILE" || option.argument == "PATH" || option.argument.ends_with(".yaml");
}

}  // namespace weft::cli
