// weft diagnose: the answer of a sweep from a file of observations.
#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <ranges>
#include <set>

#include "cli/cluster_arguments.hpp"
#include "cli/commands.hpp"
#include "cli/counter_source.hpp"
#include "cli/exit_status.hpp"
#include "cli/options.hpp"
#include "cli/output_files.hpp"
#include "cli/read_observations.hpp"
#include "cli/repair_advice.hpp"
#include "cli/stamp.hpp"
#include "cli/sweep_arguments.hpp"
#include "cli/verdict_output.hpp"
#include "collectors/counters/counter_evidence.hpp"
#include "collectors/counters/counter_text.hpp"
#include "collectors/counters/pause_origin.hpp"
#include "probes/diagnosis/coverage.hpp"
#include "probes/diagnosis/diagnose.hpp"
#include "probes/plan/scope.hpp"
#include "topology/files/diagnosis_document.hpp"
#include "topology/files/fabric_file.hpp"
#include "topology/files/file_text.hpp"
#include "topology/files/ibnetdiscover.hpp"

namespace weft::cli {
namespace {

constexpr Bytes kMaxFileBytes(512'000'000);
constexpr const char* kExamples =
    "  weft diagnose --fabric cluster.yaml --observations run.jsonl\n"
    "  weft sweep --fabric cluster.yaml --observations run.jsonl\n"
    "  weft diagnose --fabric cluster.yaml --observations run.jsonl -o json\n";

files::RunReport run_report(const Observations& observations,
                            std::vector<std::pair<std::string, Nanoseconds>> timings) {
  files::RunReport run{.timings = std::move(timings)};
  for (const Observation& probe : observations.probes) {
    run.sent += probe.sent;
    run.lost += probe.lost;
  }
  return run;
}

/// Which port has which LID, out of an ibnetdiscover dump.
Result<counters::GuidOfLid> lids_of(const std::string& dump) {
  WEFT_TRY(const auto text, files::read_text_file(dump, kMaxFileBytes));
  const auto subnet = files::parse_ibnetdiscover(text);
  if (!subnet) return pass_on(subnet, dump);
  counters::GuidOfLid lids;
  const auto add = [&](const std::optional<LidRange>& range, Guid guid) {
    for (std::uint32_t lid = range ? range->base.value() : 0; range && lid < range->end(); ++lid)
      lids.emplace(Lid(static_cast<std::uint16_t>(lid)), guid);
  };
  for (const IbSubnetNode& node : subnet->nodes) {
    add(node.about.lids, node.guid);
    for (const auto& [number, port] : node.ports) add(port.lids, port.guid);
  }
  return lids;
}

/// What port counters tell beside the observations: those of RoCE as counts, those that InfiniBand's programs
/// printed as signs; the table takes those of RoCE, too.
Result<void> add_counters(const po::variables_map& values, const files::FabricFile& read, Observations& into,
                          counters::CounterTable& table) {
  const Fabric& fabric = read.fabric;
  if (fabric.kind() == FabricKind::roce || values.count("prometheus")) {
    // Of a fabric file, what it says of a live fabric: not of what observations in a file are held against.
    WEFT_TRY(const auto source, CounterSource::open(values, {}));
    if (!source.is_there()) return {};
    WEFT_TRY_VOID(source.read(fabric, table));
    into.counts = counted(fabric, table);
    std::ranges::move(counters::paused_channels(fabric, counters::port_pauses(fabric, table)),
                      std::back_inserter(into.channels));
    return {};
  }
  const auto file = text_option(values, "counters");
  if (!file) return {};
  WEFT_TRY(const auto text, files::read_text_file(*file, kMaxFileBytes));
  auto entries = counters::parse_counter_text(text);
  if (!entries) return pass_on(entries, *file);
  counters::GuidOfLid lids;
  if (const auto dump = text_option(values, "dump")) {
    WEFT_TRY(auto held, lids_of(*dump));
    lids = std::move(held);
  }
  const auto reading = place_counters(fabric, *entries, lids);
  if (!reading) return pass_on(reading, *file);
  for (const auto& remark : entries->remarks) print_stderr("note: {}: {}\n", *file, remark);
  print_stderr("note: {}: counters of {} of {} ports\n", *file,
               std::ranges::count_if(reading->ports, [](const auto& port) { return port.has_value(); }),
               fabric.port_count());
  const InfinibandFabric whole{.fabric = fabric, .inventory = {}, .remarks = {}};
  auto evidence = counter_evidence(whole, nullptr, *reading);
  std::ranges::move(evidence.counts, std::back_inserter(into.counts));
  std::ranges::move(evidence.channels, std::back_inserter(into.channels));
  return {};
}

/// What is asked about: what jobs on the hosts of --hosts can use, or all of the fabric. A host that the file
/// does not tell of was not tested, and what a line that could not be used would have said is not known.
Result<void> set_coverage(const po::variables_map& values, const Fabric& fabric,
                          const files::ReadObservations& read, const diagnosis::Detect& detect,
                          Diagnosis& diagnosis) {
  diagnosis::cover(fabric, read.observations, detect, diagnosis);
  Coverage& covered = diagnosis.coverage;
  std::set<NodeId> seen;
  for (const PortId nic : diagnosis::nics_seen(fabric, read.observations)) seen.insert(fabric.port(nic).node);
  std::vector<NodeId> hosts(fabric.hosts().begin(), fabric.hosts().end());
  if (values.count("hosts")) {
    WEFT_TRY(hosts, hosts_of_fabric(values, fabric));
  }
  std::vector<PortId> nics;
  for (const NodeId host : hosts) {
    for (const PortId port : fabric.ports_of(host))
      if (fabric.channel_from(port)) nics.push_back(port);
    if (!seen.contains(host) && read.lines > 0)
      covered.not_tested.push_back({host, std::nullopt, "no line of the observations tells of it"});
  }
  if (values.count("hosts")) diagnosis::limit_to(covered, plan::channels_in_scope(fabric, nics));
  if (!read.observations.loads.empty()) diagnosis::note_unloaded(fabric, read.observations, covered);
  if (read.broken > 0)
    covered.cut_short = fmt::format("{} of {} lines could not be used", read.broken, read.lines);
  if (read.lines == 0)
    covered.fell_short.emplace_back("no packet is known of: counters alone vouch for nothing");
  diagnosis::conclude(fabric, read.observations, detect, diagnosis);
  diagnosis.verdict = diagnosis::verdict_of_run(fabric, read.observations, diagnosis);
  return {};
}

Result<int> run(const po::variables_map& values) {
  using Clock = std::chrono::steady_clock;
  const auto file = text_option(values, "fabric");
  if (!file) return fail(ErrorKind::usage, "--fabric FABRIC.yaml is missing");
  const auto lines = text_option(values, "observations");
  if (!lines && !values.count("counters") && !values.count("prometheus"))
    return fail(ErrorKind::usage, "--observations OBS.jsonl is missing, or --counters FILE");
  if (values.count("dump") && !values.count("counters"))
    return fail(ErrorKind::usage, "--dump tells whose the LIDs of --counters are: it needs --counters FILE");
  WEFT_TRY_VOID(check_verdict_options(values));
  WEFT_TRY_VOID(check_output_files(values, std::array{"metrics-file"},
                                   std::array{"fabric", "observations", "counters", "dump"}));
  WEFT_TRY(const auto fabric, load_fabric_file(*file));
  WEFT_TRY(const auto tolerance, read_tolerance(values, fabric.lab.tolerate));
  WEFT_TRY(const auto detect, read_detect(values));
  const auto began = Clock::now();
  files::ReadObservations read;
  if (lines) {
    WEFT_TRY(auto observed, read_observations(fabric.fabric, *lines));
    read = std::move(observed);
  }
  counters::CounterTable counters;
  WEFT_TRY_VOID(add_counters(values, fabric, read.observations, counters));
  const auto parsed = Clock::now();
  Diagnosis diagnosis = diagnosis::diagnose(fabric.fabric, read.observations, tolerance);
  const auto done = Clock::now();
  WEFT_TRY_VOID(set_coverage(values, fabric.fabric, read, detect, diagnosis));
  auto document = diagnosis_document(
      fabric.fabric, diagnosis,
      run_report(read.observations, {{"reading", parsed - began}, {"diagnosing", done - parsed}}),
      stamp_now());
  add_repair_advice(fabric.fabric, counters, document);
  print_diagnosis(values, document);
  return exit_status(diagnosis.verdict);
}

}  // namespace

OptionParser diagnose_options() {
  OptionParser parser(
      "weft diagnose --fabric FABRIC.yaml [--observations OBS.jsonl] [--counters FILE] [-o json]",
      "Names what is wrong with a fabric from a file of observations (JSON Lines), of port counters, or "
      "both.",
      kExamples);
  parser.options().add_options()("fabric", po::value<std::string>()->value_name("FILE"), "the fabric file")(
      "observations", po::value<std::string>()->value_name("FILE"),
      "what happened to probes, one line a path; - is stdin");
  add_counter_options(parser.options());
  parser.options().add_options()("dump", po::value<std::string>()->value_name("FILE"),
                                 "an ibnetdiscover dump: which port has the LIDs that perfquery names")(
      "hosts", po::value<std::string>()->value_name("LIST"),
      "what jobs on these hosts can use, as gpu[001-064] or @FILE; the rest is out of scope (default: all of "
      "the fabric)");
  add_detect_option(parser.options(Group::how_much));
  add_tolerate_option(parser.options(Group::how_much));
  add_verdict_options(parser.options(Group::output));
  return parser;
}

int diagnose_command(const Arguments& arguments) {
  auto parser = diagnose_options();
  const auto values = parser.parse(arguments);
  if (!values) return report(values.error());
  if (OptionParser::help_was_asked(*values)) return kExitHealthy;
  const auto status = run(*values);
  return status ? *status : report(status.error());
}

}  // namespace weft::cli
