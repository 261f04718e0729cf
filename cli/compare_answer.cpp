#include "cli/compare_answer.hpp"

#include <fmt/format.h>

#include "cli/exit_status.hpp"
#include "cli/stamp.hpp"
#include "cli/terminal.hpp"
#include "collectors/report/comparison_html.hpp"
#include "collectors/web/report_page.hpp"
#include "topology/files/file_text.hpp"

namespace weft::cli {
namespace {

void print(const report::ComparedRuns& runs, OutputFormat format) {
  switch (format) {
    case OutputFormat::table:
      return fmt::print("{}", report::comparison_table(runs, terminal_columns()));
    case OutputFormat::json:
      return fmt::print("{}", report::comparison_json(runs, stamp_now()));
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
  options.add_options()("html", po::value<std::string>()->value_name("FILE"),
                        "write a report to look at: one file, which needs nothing else");
}

Result<int> answer_comparison(const po::variables_map& values, const report::ComparedRuns& runs) {
  WEFT_TRY(const auto format, read_output_format(values));
  print(runs, format);
  if (const auto file = text_option(values, "html"))
    WEFT_TRY_VOID(
        files::write_text_file(*file, report::comparison_html(runs, stamp_now(), web::saving_script())));
  return exit_status(runs.comparison.decision());
}

}  // namespace weft::cli
