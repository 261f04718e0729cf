#include "cli/trace_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "cli/agent.hpp"
#include "cli/cluster_arguments.hpp"
#include "cli/exit_status.hpp"
#include "cli/interrupt.hpp"
#include "cli/lab_place.hpp"
#include "cli/stamp.hpp"
#include "cli/terminal.hpp"
#include "collectors/report/field_table.hpp"
#include "probes/run/agent_run.hpp"
#include "probes/run/engines.hpp"
#include "probes/session/coordinator_loop.hpp"
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

int answer(const Fabric& fabric, const session::FieldScript& script, const TraceWords& words) {
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

}  // namespace

int try_fields_lab(const po::variables_map& values, const TraceWords& words) {
  const auto lab = run::open_lab_for_run(values["lab"].as<std::string>(), lab_state_root());
  if (!lab) return report(lab.error());
  const auto pair = pair_to_try(lab->fabric(), lab->addresses().book, words);
  if (!pair) return report(pair.error());
  const Interrupt interrupt;
  const auto secrets = run::new_run_secrets();
  session::FieldScript script(lab->fabric(), lab->addresses().book,
                              {.answers_per_second = kLabAnswersPerSecond}, secrets.run, *pair);
  auto site = run::lab_site(*lab, hosts_of(lab->fabric(), *pair));
  if (!site) return report(site.error());
  choose_engine(*site, words);
  const auto done =
      run_with_agents(*site, run::ListenAddress{lab->coordinator_address()}, lab->fabric(), script, secrets,
                      [](const session::Progress&) {}, interrupt.token(), {.limit = words.limit});
  if (interrupt.happened()) return kExitInterrupted;
  return done ? answer(lab->fabric(), script, words) : report(done.error());
}

int try_fields_cluster(const po::variables_map& values, const TraceWords& words,
                       const files::FabricFile& file) {
  const auto pair = pair_to_try(file.fabric, file.addresses, words);
  if (!pair) return report(pair.error());
  auto cluster = cluster_to_trace(values, words, file, hosts_of(file.fabric, *pair));
  if (!cluster) return report(cluster.error());
  const Interrupt interrupt;
  const auto secrets = run::new_run_secrets();
  session::FieldScript script(file.fabric, file.addresses, {.answers_per_second = kLiveAnswersPerSecond},
                              secrets.run, *pair);
  const auto done = run_with_agents(
      cluster->site, cluster->bus, file.fabric, script, secrets, [](const session::Progress&) {},
      interrupt.token(), cluster->timing);
  if (interrupt.happened()) return kExitInterrupted;
  return done ? answer(file.fabric, script, words) : report(done.error());
}

int try_fields_simulated(const TraceWords& words, const files::FabricFile& file) {
  const auto addresses = plan_addresses(file.fabric, file.lab.family);
  if (!addresses) return report(addresses.error());
  const auto pair = pair_to_try(file.fabric, addresses->book, words);
  if (!pair) return report(pair.error());
  session::FieldScript script(file.fabric, addresses->book, {.answers_per_second = kLabAnswersPerSecond},
                              RunId(1), *pair);
  const NodeId host = file.fabric.port(pair->src).node;
  session::Coordinator coordinator(file.fabric, script, {RunId(1), {}},
                                   {{host, {{words.src, pair->src}, {words.dst, pair->dst}}}});
  const auto open = run::simulated_engines(file.fabric, addresses->book, {}, 1, nullptr, {}, {}, words.hash);
  const auto done = coordinate_in_process(coordinator, {file.fabric.name_of(host)}, open,
                                          [](const session::Progress&) {}, {});
  return done ? answer(file.fabric, script, words) : report(done.error());
}

void note_hashed(const std::vector<PacketField>& hashed, std::string_view where) {
  if (std::ranges::count(hashed, PacketField::queue_pair) > 0)
    print_stderr("weft: {}: {}\n", where, report::kProbesPathsAlone);
}

void note_hashed(const std::optional<FieldFindings>& fields, std::string_view where) {
  if (fields && fields->moves(PacketField::queue_pair) == MovesPath::yes)
    note_hashed({PacketField::queue_pair}, where);
}

}  // namespace weft::cli
