#include "cli/verdict_output.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

namespace weft::cli {
namespace {

constexpr std::size_t kPipeColumns = 80;

std::size_t terminal_columns() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kPipeColumns;
  return size.ws_col;
}

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

/// https://no-color.org: a variable that is set and not empty says no, unless the command line says
/// otherwise.
bool wants_colour(const std::string& asked) {
  if (asked != "auto") return asked == "always";
  const char* terminal = std::getenv("TERM");
  return isatty(STDOUT_FILENO) == 1 && !is_set("NO_COLOR") && is_set("TERM") &&
         std::string_view(terminal) != "dumb";
}

std::string color_of(const po::variables_map& values) {
  return text_option(values, "color").value_or("auto");
}

}  // namespace

void add_verdict_options(po::options_description& options) {
  add_output_option(options);
  options.add_options()("quiet", "one line for monitoring: a Nagios plug-in's, with performance data")(
      "all", "every finding: without it a summary and the twenty that hurt most")(
      "color", po::value<std::string>()->value_name("auto|always|never"),
      "auto (on a terminal, unless NO_COLOR is set), always or never");
}

Result<void> check_verdict_options(const po::variables_map& values) {
  WEFT_TRY(const auto json, wants_json(values));
  if (json && values.count("quiet"))
    return fail(ErrorKind::usage, "--quiet is one line of text: leave out -o json");
  const auto color = color_of(values);
  if (color != "auto" && color != "always" && color != "never")
    return fail(ErrorKind::usage, "--color {}: expected auto, always or never", color);
  return {};
}

report::TableStyle table_style(const po::variables_map& values) {
  return {.columns = terminal_columns(),
          .colour = wants_colour(color_of(values)),
          .sign = isatty(STDOUT_FILENO) == 1,
          .all = values.count("all") > 0};
}

void print_diagnosis(const po::variables_map& values, const files::DiagnosisDocument& document) {
  if (wants_json(values).value_or(false))
    fmt::print("{}", diagnosis_json(document));
  else if (values.count("quiet"))
    fmt::print("{}", report::monitoring_line(document));
  else
    fmt::print("{}", report::diagnosis_table(document, table_style(values)));
}

}  // namespace weft::cli
