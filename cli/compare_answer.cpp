#include "cli/compare_answer.hpp"

#include <fmt/format.h>

#include "cli/exit_status.hpp"
#include "cli/output_files.hpp"
#include "cli/stamp.hpp"
#include "cli/terminal.hpp"
#include "collectors/report/comparison_document.hpp"

namespace weft::cli {
namespace {

/// `document`: of them; not asked for where it is empty.
void print(const report::ComparedRuns& runs, OutputFormat format, std::string_view document) {
  switch (format) {
    case OutputFormat::table:
      return fmt::print("{}", report::comparison_table(runs, terminal_columns()));
    case OutputFormat::json:
      return fmt::print("{}", document);
    case OutputFormat::jsonl:
      return fmt::print("{}", files::json_lines(report::comparison_rows(runs)));
    case OutputFormat::csv:
      return fmt::print("{}", files::csv_text(report::comparison_rows(runs)));
  }
}

int exit_status(compare::Decision decision) {
  switch (decision) {
    case compare::Decision::equal:
      return kExitHealthy;
    case compare::Decision::differs:
      return kExitDegraded;
    case compare::Decision::undecided:
      return kExitUnknown;
  }
  return kExitInternal;
}

}  // namespace

void add_margin_option(po::options_description& options) {
  options.add_options()("margin", po::value<std::string>()->value_name("PERCENT"),
                        "a difference that does not matter (default: 5%)");
}

Result<double> read_margin(const po::variables_map& values) {
  WEFT_TRY(const auto margin, read_option(values, "margin", parse_percent));
  const double share = margin ? margin->value() : compare::Settings{}.margin;
  if (!(share > 0))
    return fail(ErrorKind::usage, "--margin 0%: expected more than 0: nothing is equal exactly");
  return share;
}

void add_comparison_output(po::options_description& options) {
  add_rows_option(options);
  add_html_option(options);
}

Result<int> answer_comparison(const po::variables_map& values, const report::ComparedRuns& runs,
                              const std::vector<const Fabric*>& fabrics) {
  WEFT_TRY(const auto format, read_output_format(values));
  const auto file = text_option(values, "html");
  const auto document =
      file || format == OutputFormat::json ? report::comparison_json(runs, stamp_now()) : std::string();
  print(runs, format, document);
  WEFT_TRY_VOID(write_html(file, document, fabrics));
  return exit_status(runs.comparison.decision());
}

}  // namespace weft::cli
