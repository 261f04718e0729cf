// weft diagnose: the answer of a sweep from a file of observations.
#include <chrono>

#include "cli/broken_lines.hpp"
#include "cli/commands.hpp"
#include "cli/exit_status.hpp"
#include "cli/options.hpp"
#include "cli/stamp.hpp"
#include "cli/sweep_arguments.hpp"
#include "collectors/report/table.hpp"
#include "probes/diagnosis/diagnose.hpp"
#include "topology/files/diagnosis_document.hpp"
#include "topology/files/fabric_file.hpp"

namespace weft {
namespace {

constexpr const char* kExamples =
    "  weft diagnose --fabric roce-a.yaml --observations run.jsonl\n"
    "  weft sweep --fabric roce-a.yaml --observations run.jsonl; weft diagnose --fabric roce-a.yaml \\\n"
    "      --observations run.jsonl -o json\n";

RunReport run_report(const Observations& observations,
                     std::vector<std::pair<std::string, Nanoseconds>> timings) {
  RunReport run{.timings = std::move(timings)};
  for (const Observation& probe : observations.probes) {
    run.sent += probe.sent;
    run.lost += probe.lost;
  }
  return run;
}

/// The channels nothing crossed are no verdict on those that were: what was asked is the file's business. But
/// a file of which nothing could be used says nothing of the fabric.
Result<int> run(const po::variables_map& values) {
  using Clock = std::chrono::steady_clock;
  const auto file = text_option(values, "fabric");
  if (!file) return fail(ErrorKind::usage, "--fabric FABRIC.yaml is missing");
  const auto lines = text_option(values, "observations");
  if (!lines) return fail(ErrorKind::usage, "--observations OBS.jsonl is missing");
  const auto json = wants_json(values);
  if (!json) return pass_on(json);
  const auto fabric = read_fabric_file(*file);
  if (!fabric) return pass_on(fabric);
  const auto tolerance = read_tolerance(values, fabric->lab.tolerate);
  if (!tolerance) return pass_on(tolerance);
  const auto began = Clock::now();
  const auto read = read_observation_file(fabric->fabric, *lines);
  if (!read) return pass_on(read);
  name_broken_lines(*read, *lines);
  const auto parsed = Clock::now();
  Diagnosis diagnosis = diagnose(fabric->fabric, read->observations, *tolerance);
  const auto done = Clock::now();
  diagnosis.coverage.complete = read->lines > read->broken && diagnosis.coverage.thin.empty();
  diagnosis.verdict = run_verdict(diagnosis);
  const auto document = diagnosis_document(
      fabric->fabric, diagnosis,
      run_report(read->observations, {{"reading", parsed - began}, {"diagnosing", done - parsed}}),
      stamp_now());
  if (*json)
    fmt::print("{}", diagnosis_json(document));
  else
    fmt::print("{}", diagnosis_table(document));
  return exit_status(diagnosis.verdict);
}

}  // namespace

int diagnose_command(const Arguments& arguments) {
  OptionParser parser("weft diagnose --fabric FABRIC.yaml --observations OBS.jsonl [-o json]",
                      "Names what is wrong with a fabric from a file of observations (JSON Lines).",
                      kExamples);
  parser.options().add_options()("fabric", po::value<std::string>()->value_name("FILE"), "the fabric file")(
      "observations", po::value<std::string>()->value_name("FILE"),
      "what happened to probes, one line a path");
  add_tolerate_option(parser.options());
  add_output_option(parser.options());
  const auto values = parser.parse(arguments);
  if (!values) return report(values.error());
  if (OptionParser::help_was_asked(*values)) return kExitHealthy;
  const auto status = run(*values);
  return status ? *status : report(status.error());
}

}  // namespace weft
