#include "cli/trace_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "cli/exit_status.hpp"
#include "cli/stamp.hpp"
#include "cli/terminal.hpp"
#include "collectors/report/field_table.hpp"
#include "probes/plan/field_trial.hpp"
#include "probes/session/field_script.hpp"
#include "topology/files/path_map_json.hpp"

namespace weft::cli {
namespace {

/// Between which several paths lead.
Result<plan::NicPair> pair_to_try(const Fabric& fabric, const AddressBook& addresses,
                                  const TraceWords& words) {
  WEFT_TRY(const auto pair, find_pair(fabric, words));
  for (const PortId nic : {pair.src, pair.dst})
    if (!addresses.address_of(nic))
      return fail(ErrorKind::usage, "{} has no address", fabric.name_of_nic(nic));
  routing::ShortestPathCache ways(fabric);
  if (!plan::hops_of_trial(fabric, ways, addresses, pair))
    return fail(ErrorKind::usage, "--fields: one path at most leads from {} to {}: no field can move it",
                words.src, words.dst);
  return pair;
}

int answer_fields(const Fabric& fabric, const session::FieldScript& script, const TraceWords& words) {
  for (const HostEvidence& trouble : script.troubles())
    print_stderr("weft: {}: {}\n", fabric.name_of(trouble.host), trouble.text);
  if (const auto& why = script.why_cut_short()) print_stderr("weft: cut short: {}\n", *why);
  const FieldFindings findings = script.findings();
  switch (words.output) {
    case OutputFormat::table:
      fmt::print("{}", report::field_table(fabric, findings, terminal_columns()));
      break;
    case OutputFormat::json:
      fmt::print("{}", path_map_json(fabric, script.learner().path_map(), stamp_now(), nullptr, &findings));
      break;
    case OutputFormat::jsonl:
      fmt::print("{}", files::json_lines(report::field_rows(fabric, findings)));
      break;
    case OutputFormat::csv:
      fmt::print("{}", files::csv_text(report::field_rows(fabric, findings)));
      break;
  }
  const bool known = std::ranges::none_of(
      findings.fields, [](const FieldFinding& finding) { return finding.moves == MovesPath::unknown; });
  return known ? kExitHealthy : kExitUnknown;
}

class FieldTrace final : public Trace {
 public:
  FieldTrace(const TraceGround& ground, const plan::NicPair& pair, const TraceWords& words)
      : fabric_(ground.fabric),
        words_(words),
        pair_(pair),
        script_(ground.fabric, ground.addresses, ground.options, ground.run, pair) {}
  session::Script& script() override { return script_; }
  std::vector<PortId> nics() const override { return {pair_.src, pair_.dst}; }
  int answer() override { return answer_fields(fabric_, script_, words_); }

 private:
  const Fabric& fabric_;
  const TraceWords& words_;
  plan::NicPair pair_;
  session::FieldScript script_;
};

}  // namespace

StartTrace start_fields(const TraceWords& words) {
  return [&words](const TraceGround& ground) -> Result<std::unique_ptr<Trace>> {
    WEFT_TRY(const auto pair, pair_to_try(ground.fabric, ground.addresses, words));
    return std::make_unique<FieldTrace>(ground, pair, words);
  };
}

}  // namespace weft::cli
