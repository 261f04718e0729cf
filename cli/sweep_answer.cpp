#include "cli/sweep_answer.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <map>
#include <span>

#include "cli/exit_status.hpp"
#include "cli/interrupt.hpp"
#include "cli/output_files.hpp"
#include "cli/repair_advice.hpp"
#include "cli/stamp.hpp"
#include "cli/verdict_output.hpp"
#include "probes/diagnosis/delay/queueing.hpp"
#include "probes/run/agent_options.hpp"
#include "probes/session/sweep.hpp"
#include "topology/files/diagnosis_document.hpp"
#include "topology/files/file_text.hpp"
#include "topology/files/observation_json.hpp"
#include "topology/files/path_map_json.hpp"
#include "topology/findings/pause_times.hpp"

namespace weft::cli {
namespace {

constexpr std::array kFiles{"save", "html", "paths", "observations", "metrics-file", "plot"};
constexpr std::array kRead{"fabric", "flows", "measured"};

/// Of more than what the observations say: who got how much of a pattern, what queue pairs measured.
bool has_news(const FlowResults& results) {
  return !results.flows.empty() &&
         (results.pattern != LoadPattern::links ||
          std::ranges::any_of(results.flows, [](const FlowResult& flow) { return !flow.qps.empty(); }));
}

/// Round trips beside flows that share no channel say little one by one, and are as many as the fabric has
/// channels: some stand for all. Those of a pattern are what is compared.
constexpr std::size_t kMaxTripsOfLinks = 256;

std::optional<files::QueueingReport> queueing_of(const Fabric& fabric, const session::Sweep& sweep) {
  const std::span<const LoadedTrip> trips = sweep.loaded_trips();
  if (trips.empty()) return std::nullopt;
  const PathTable& paths = sweep.observations().paths;
  const std::size_t most =
      sweep.flows().pattern == LoadPattern::links ? std::min(trips.size(), kMaxTripsOfLinks) : trips.size();
  auto report =
      files::queueing_report(fabric, paths, trips.first(most), diagnosis::queues_by_channel(paths, trips));
  report.left_out += trips.size() - most;
  return report;
}

files::CounterReport counted(const NicCounterSteps& nic) {
  files::CounterReport read{nic.device, nic.port, nic.window, {}, nic.load_window};
  for (const auto& [name, step] : nic.steps)
    // Pauses that took no time are a figure: of devices that count none, nothing is known.
    if (const auto* grown = std::get_if<Advanced>(&step); grown && (grown->by > 0 || is_pause_time(name)))
      read.grew[name] = grown->by;
  for (const auto& [name, step] : nic.load_steps)
    if (const auto* grown = std::get_if<Advanced>(&step); grown && is_pause_time(name))
      read.paused[name] = grown->by;
  return read;
}

std::vector<files::NicUseReport> nics_of(const Fabric& fabric, const session::Sweep& sweep) {
  std::map<PortId, files::NicUseReport> all;
  for (const auto& [nic, text] : sweep.uses()) all[nic].uses = text;
  for (const NicCounterSteps& nic : sweep.nic_counters()) all[nic.nic].counters = counted(nic);
  for (const auto& [nic, delays] : sweep.host_delays())
    all[nic].delays = {over_paths(delays.prober), over_paths(delays.responder), over_paths(delays.whole),
                       delays.by_hardware};
  std::vector<files::NicUseReport> reports;
  for (auto& [nic, report] : all) {
    report.nic = fabric.name_of_nic(nic);
    reports.push_back(std::move(report));
  }
  return reports;
}

/// By what the NICs were probed, where that was left open. Packets of our own go by DPDK where it has a
/// device.
files::EngineReport engine_report(const po::variables_map& values, const session::EngineUsed& chosen) {
  if (chosen.engine != session::kRawEngine || !values.count("dpdk-args"))
    return {std::string(chosen.engine), chosen.why};
  return {std::string(to_string(run::EngineKind::dpdk)), chosen.why + ", and --dpdk-args names a device"};
}

}  // namespace

void add_answer_options(po::options_description& options) {
  add_verdict_options(options);
  add_progress_option(options);
  options.add_options()("save", po::value<std::string>()->value_name("FILE"),
                        "write the JSON document to a file too");
  add_html_option(options);
  options.add_options()("paths", po::value<std::string>()->value_name("FILE"),
                        "write the path map (weft.pathmap/1) to a file")(
      "observations", po::value<std::string>()->value_name("FILE"),
      "write the observations (JSON Lines) to a file, for weft diagnose");
}

Result<void> check_answer_options(const po::variables_map& values) {
  WEFT_TRY_VOID(check_output_files(values, kFiles, kRead));
  if (const auto style = read_progress_style(values); !style) return pass_on(style);
  return check_verdict_options(values);
}

int answer(const po::variables_map& values, const Fabric& fabric, session::Sweep& sweep,
           ProgressLine& progress, std::stop_token stop, counters::CounterTable* counters) {
  const files::DocumentStamp stamp = stamp_now();
  progress.show({"diagnosing", 0, 1, session::RunPart{1, 1}});
  const session::SweepReport report = sweep.finish();
  const bool was_interrupted = stop.stop_requested();
  auto document =
      diagnosis_document(fabric, report.diagnosis,
                         {report.sent, report.lost, progress.timings(), nics_of(fabric, sweep)}, stamp);
  if (const auto& chosen = sweep.engine()) document.run.engine = engine_report(values, *chosen);
  if (counters != nullptr) add_repair_advice(fabric, *counters, document);
  if (has_news(sweep.flows()))
    document.flows = files::flows_report(fabric, sweep.observations().paths, sweep.flows());
  document.queueing = queueing_of(fabric, sweep);
  progress.clear();
  print_diagnosis(values, document);
  const auto save = [&](const char* option, auto text) -> Result<void> {
    const auto path = text_option(values, option);
    return path ? files::write_text_file(*path, text()) : Result<void>();
  };
  for (const auto& saved :
       {save("save", [&] { return diagnosis_json(document); }),
        save("paths", [&] { return path_map_json(fabric, sweep.learner().path_map(), stamp); }),
        save("observations", [&] { return files::observation_lines(fabric, sweep.observations()); })})
    if (!saved) return cli::report(saved.error());
  if (const auto html = text_option(values, "html"))
    if (const auto written = write_html(html, diagnosis_json(document), {&fabric}); !written)
      return cli::report(written.error());
  return was_interrupted ? kExitInterrupted : exit_status(report.diagnosis.verdict);
}

int answer_interrupted(const po::variables_map& values, const Fabric& fabric, session::Sweep& sweep,
                       ProgressLine& progress, std::stop_token stop) {
  if (sweep.probes_sent() == 0) return kExitInterrupted;
  end_at_next_signal();  // the agents have ended
  sweep.cut_short("interrupted");
  return answer(values, fabric, sweep, progress, stop);
}

}  // namespace weft::cli
