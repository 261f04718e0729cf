// What every command is and takes, as values: help pages, manual pages, completion and configuration are made
// of these. Pure, but for the commands' own tables.
#pragma once

#include <string>
#include <vector>

#include "cli/options.hpp"

namespace weft::cli {

struct CommandPage {
  std::vector<std::string> words;  // {"sweep"}, {"lab", "up"}; of a group {"lab"}
  std::string summary;             // a line, for lists
  std::string about;               // what stands at the head of its help page
  std::string usage;
  std::string examples;  // lines of a shell, indented
  bool takes_configuration = true;
  bool group = false;  // of words: it takes no options itself
  std::vector<OptionText> options;
  std::vector<OptionParser::Alternatives> alternatives;

  std::string key() const;    // "lab.up": its section in a configuration
  std::string title() const;  // "lab up"
};

/// Every command that help lists, each group before its words.
std::vector<CommandPage> command_pages();

/// The command of a command line and how many words its name has; absent: none, or one without options.
struct FoundCommand {
  const Command* command = nullptr;
  std::size_t words = 0;
};
FoundCommand find_command(const Arguments& line);
CommandPage page_of(const Command& command, std::vector<std::string> words);

/// The words that a value may be, as its name says: `none|light|full`. What stands in capitals is any text.
std::vector<std::string> allowed_words(const OptionText& option);
/// Its name says that it is a file.
bool names_a_file(const OptionText& option);

}  // namespace weft::cli
