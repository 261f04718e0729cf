#include "cli/terminal.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "topology/base/text.hpp"

namespace weft::cli {
namespace {

constexpr std::size_t kPipeColumns = 80;
constexpr std::size_t kDeeper = 4;

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

}  // namespace

std::size_t terminal_columns() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kPipeColumns;
  return size.ws_col;
}

bool stdout_is_terminal() { return isatty(STDOUT_FILENO) == 1; }

/// https://no-color.org: a variable that is set and not empty says no, unless the command line says
/// otherwise.
bool wants_colour(const std::string& asked) {
  if (asked != "auto") return asked == "always";
  const char* terminal = std::getenv("TERM");
  return stdout_is_terminal() && !is_set("NO_COLOR") && is_set("TERM") &&
         std::string_view(terminal) != "dumb";
}

void print_wrapped(const std::string& text, std::size_t indent) {
  fmt::print("{}", wrapped(text, indent, terminal_columns(), kDeeper));
}

}  // namespace weft::cli
