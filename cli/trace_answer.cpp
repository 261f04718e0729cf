#include "cli/trace_answer.hpp"

#include <fmt/format.h>

#include <string>

#include "cli/exit_status.hpp"
#include "cli/output_files.hpp"
#include "cli/stamp.hpp"
#include "cli/terminal.hpp"
#include "collectors/report/audit_json.hpp"
#include "collectors/report/audit_table.hpp"
#include "collectors/report/path_table.hpp"
#include "topology/files/path_map_json.hpp"

namespace weft::cli {
namespace {

std::string map_json(const Fabric& fabric, const plan::PathLearner& learner, plan::LabelMap* map,
                     const plan::NicPair& pair) {
  if (!map) return path_map_json(fabric, learner.path_map(), stamp_now());
  const files::PredictedPaths predicted{map->predicted(pair), map->tally(pair).confidence};
  return path_map_json(fabric, learner.path_map(), stamp_now(), &predicted);
}

int print_audit(const Fabric& fabric, const session::TraceScript& script, const plan::NicPair& pair,
                const TraceWords& words) {
  const plan::PathLearner& learner = script.learner();
  report::Audit audit = report::audit_of(pair.src, pair.dst, learner, script.audited());
  if (words.audit.move) audit.move = report::move_of(pair.src, pair.dst, learner, script.audited());
  fmt::print("{}", words.output == OutputFormat::json
                       ? audit_json(fabric, learner.table(), audit, stamp_now())
                       : audit_table(fabric, learner.table(), audit, terminal_columns()));
  if (words.html)
    if (const auto written =
            write_html(words.html, audit_json(fabric, learner.table(), audit, stamp_now()), {&fabric});
        !written)
      return report(written.error());
  const bool known = audit.queue_pairs > 0 && (!audit.move || audit.move->moved > 0);
  return script.troubles().empty() && !script.why_cut_short() && known ? kExitHealthy : kExitUnknown;
}

}  // namespace

void print_paths(const Fabric& fabric, const plan::PathLearner& learner, const TraceWords& words,
                 std::uint32_t tried, const plan::NicPair& pair, plan::LabelMap* map) {
  switch (words.output) {
    case OutputFormat::table:
      fmt::print("{}", report::path_table(fabric, learner, tried, terminal_columns()));
      if (map) fmt::print("{}", report::label_map_table(fabric, *map, pair, terminal_columns()));
      return;
    case OutputFormat::json:
      return fmt::print("{}", map_json(fabric, learner, map, pair));
    case OutputFormat::jsonl:
      return fmt::print("{}", files::json_lines(report::path_rows(fabric, learner, map)));
    case OutputFormat::csv:
      return fmt::print("{}", files::csv_text(report::path_rows(fabric, learner, map)));
  }
}

int answer_trace(const Fabric& fabric, session::TraceScript& script, const plan::NicPair& pair,
                 const TraceWords& words) {
  for (const HostEvidence& trouble : script.troubles())
    print_stderr("weft: {}: {}\n", fabric.name_of(trouble.host), trouble.text);
  if (const auto& why = script.why_cut_short()) print_stderr("weft: cut short: {}\n", *why);
  if (words.audit.queue_pairs > 0) return print_audit(fabric, script, pair, words);
  const auto tried = words.map.all_labels ? script.labels_traced() : words.labels;
  print_paths(fabric, script.learner(), words, static_cast<std::uint32_t>(tried), pair, script.label_map());
  const bool whole = script.troubles().empty() && !script.why_cut_short();
  return whole && !script.learner().pairs().empty() ? kExitHealthy : kExitUnknown;
}

}  // namespace weft::cli
