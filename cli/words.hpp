// Commands of several words, as `weft topology show`: picks the word, lists them for --help.
#pragma once

#include <span>
#include <string_view>

#include "cli/commands.hpp"

namespace weft::cli {

struct WordGroup {
  std::string_view name;  // of the command: "topology"
  std::string_view summary;
  std::span<const Command> words;
  std::string_view examples;  // lines, each indented by two
};

int run_word(const WordGroup& group, const Arguments& arguments);

}  // namespace weft::cli
