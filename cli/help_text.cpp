#include "cli/help_text.hpp"

#include <algorithm>

namespace weft::cli {
namespace {

constexpr unsigned kCommandIndent = 6;

/// Breaks one line; `tail` ends every part but the last.
std::string fit_line(std::string line, unsigned indent, std::string_view tail) {
  std::string fitted;
  while (line.size() > kHelpColumns) {
    const auto first_word = std::min(line.find_first_not_of(' '), line.size());
    const auto space = line.rfind(' ', kHelpColumns - tail.size());
    if (space == std::string::npos || space <= first_word) break;
    fitted += line.substr(0, line.find_last_not_of(' ', space) + 1);
    fitted += tail;
    fitted += '\n';
    line = std::string(indent, ' ') + line.substr(space + 1);
  }
  return fitted + line;
}

std::string fit(std::string_view text, unsigned indent, std::string_view tail) {
  std::string fitted;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    fitted += fit_line(std::string(text.substr(0, end)), indent, tail);
    if (end < text.size()) fitted += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return fitted;
}

}  // namespace

std::string fit_prose(std::string_view text, unsigned indent) { return fit(text, indent, ""); }

std::string fit_commands(std::string_view text) { return fit(text, kCommandIndent, " \\"); }

}  // namespace weft::cli
