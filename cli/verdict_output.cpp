#include "cli/verdict_output.hpp"

#include <fmt/format.h>

#include "cli/exit_status.hpp"
#include "cli/terminal.hpp"
#include "collectors/metrics/metrics.hpp"
#include "collectors/report/finding_rows.hpp"
#include "topology/files/file_text.hpp"

namespace weft::cli {
namespace {

std::string color_of(const po::variables_map& values) {
  return text_option(values, "color").value_or("auto");
}

}  // namespace

void add_verdict_options(po::options_description& options, bool rows) {
  add_rows_option(options);
  options.add_options()("quiet", "one line for monitoring: a Nagios plug-in's, with performance data")(
      "all", "every finding: without it a summary and the twenty that hurt most")(
      "color", po::value<std::string>()->value_name("auto|always|never"),
      "auto (on a terminal, unless NO_COLOR is set), always or never");
  if (rows)
    options.add_options()("metrics-file", po::value<std::string>()->value_name("FILE"),
                          "also write the result for the textfile collector of Prometheus");
}

Result<void> check_verdict_options(const po::variables_map& values) {
  WEFT_TRY(const auto format, read_output_format(values));
  if (format != OutputFormat::table && values.count("quiet"))
    return fail(ErrorKind::usage, "--quiet is one line of text: leave out -o {}",
                values["output"].as<std::string>());
  const auto color = color_of(values);
  if (color != "auto" && color != "always" && color != "never")
    return fail(ErrorKind::usage, "--color {}: expected auto, always or never", color);
  return {};
}

report::TableStyle table_style(const po::variables_map& values) {
  return {.columns = terminal_columns(),
          .colour = wants_colour(color_of(values)),
          .sign = stdout_is_terminal(),
          .all = values.count("all") > 0};
}

namespace {

void print_answer(const po::variables_map& values, const files::DiagnosisDocument& document) {
  if (values.count("quiet")) return fmt::print("{}", report::monitoring_line(document));
  switch (read_output_format(values).value_or(OutputFormat::table)) {
    case OutputFormat::json:
      return fmt::print("{}", diagnosis_json(document));
    case OutputFormat::jsonl:
      return fmt::print("{}", files::json_lines(report::finding_rows(document)));
    case OutputFormat::csv:
      return fmt::print("{}", files::csv_text(report::finding_rows(document)));
    case OutputFormat::table:
      fmt::print("{}", report::diagnosis_table(document, table_style(values)));
  }
}

}  // namespace

void print_diagnosis(const po::variables_map& values, const files::DiagnosisDocument& document) {
  print_answer(values, document);
  const auto file = text_option(values, "metrics-file");
  if (!file) return;
  // The answer stands: a file that cannot be written changes nothing of it.
  if (const auto written = files::write_text_file(*file, metrics::metrics_text(document)); !written)
    print_stderr("weft: --metrics-file: {}\n", written.error().message);
}

}  // namespace weft::cli
