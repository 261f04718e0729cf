#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "balancer/trial/trial_summary.hpp"
#include "cli/balance_answer.hpp"
#include "cli/exit_status.hpp"
#include "cli/stamp.hpp"
#include "cli/terminal.hpp"
#include "topology/base/readable.hpp"
#include "topology/base/text_table.hpp"
#include "topology/files/json_text.hpp"
#include "topology/model/fabric.hpp"

namespace weft::cli {
namespace {

// A trial as JSON, `weft.trial/1` (docs/schema/trial.schema.json).

files::DocumentTree links_json(const Fabric& fabric, const trial::TrialSending& sending) {
  files::DocumentTree links = files::DocumentTree::array();
  for (std::uint32_t c = 0; c < sending.counted.size(); ++c)
    if (sending.planned[c] > 0 || sending.counted[c] > 0)
      links.push_back({{"channel", fabric.name_of(ChannelId(c))},
                       {"planned", static_cast<std::uint64_t>(sending.planned[c])},
                       {"counted", static_cast<std::uint64_t>(sending.counted[c])}});
  return links;
}

files::DocumentTree sending_json(const Fabric& fabric, const trial::TrialSending& sending) {
  files::DocumentTree json{{"labels", sending.steered ? "assigned" : "random"},
                           {"seconds", sending.measured},
                           {"predicted_seconds", sending.predicted},
                           {"packet_mode_seconds", sending.by_packets},
                           {"qps", sending.qps},
                           {"unfinished", sending.unfinished},
                           {"packets", sending.wanted},
                           {"sent", sending.sent},
                           {"received", sending.received},
                           {"links", links_json(fabric, sending)}};
  if (sending.error) json["error"] = *sending.error;
  return json;
}

files::DocumentTree number_or_null(std::optional<double> number) {
  return number ? files::DocumentTree(*number) : files::DocumentTree();
}

files::DocumentTree after_json(const Fabric& fabric, LinkId link, const trial::TrialAfterFailure& after) {
  files::DocumentTree blamed = files::DocumentTree::array();
  for (const LinkId one : after.blamed) blamed.push_back(fabric.name_of(one));
  return {{"link", fabric.name_of(link)},
          {"stuck", after.stuck.unfinished},
          {"verdict", std::string(to_string(after.verdict))},
          {"blamed", blamed},
          {"mapping_seconds", after.mapping},
          {"diagnosing_seconds", after.diagnosing},
          {"assigning_seconds", after.assigning},
          {"first_byte_seconds", number_or_null(after.first_byte)},
          {"in_force_seconds", number_or_null(after.in_force)},
          {"unacknowledged", after.unacknowledged},
          {"moved", after.moved},
          {"bytes_over_link", static_cast<std::uint64_t>(bytes_over(after.again, link))},
          {"sending", sending_json(fabric, after.again)}};
}

files::DocumentTree times_json(const trial::TrialTimes& times) {
  return {{"seconds", times.measured},
          {"predicted_seconds", times.predicted},
          {"packet_mode_seconds", times.by_packets},
          {"sent_again", times.sent_again},
          {"unfinished", times.unfinished}};
}

std::string trial_json(const Fabric& fabric, const BalanceOptions& options,
                       const trial::TrialOptions& trial_options, const trial::BalanceTrial& trial,
                       const trial::TrialSummary& summary) {
  files::DocumentTree json = stamped_tree("weft.trial/1", stamp_now());
  json["fabric"] = fabric.name();
  json["demand"] = options.asked.name;
  json["qps"] = options.assign.qps;
  json["labels"] = trial_options.labels;
  json["ratio"] = trial.assignment().ratio();
  json["assigned"] = times_json(summary.steered);
  json["random"] = times_json(summary.hashed);
  json["gain"] = {{"measured", summary.gain_measured}, {"predicted", summary.gain_predicted}};
  auto& sendings = json["sendings"] = files::DocumentTree::array();
  for (const trial::TrialSending& sending : trial.sendings())
    sendings.push_back(sending_json(fabric, sending));
  if (trial.after_failure())
    json["after_failure"] = after_json(fabric, *trial_options.fail, *trial.after_failure());
  json["complaints"] = summary.complaints;
  auto& unassigned = json["unassigned"] = files::DocumentTree::array();
  for (const demand::RefusedFlow& line : options.asked.refused)
    unassigned.push_back({{"flow", line.flow}, {"why", line.why}});
  for (const assign::PhaseAssignment& phase : trial.assignment().phases)
    for (const assign::Unassigned& item : phase.unassigned)
      unassigned.push_back({{"flow", item.flow}, {"why", item.why}});
  return files::document_text(json);
}

std::string time_of(double seconds) { return readable(Nanoseconds(std::llround(seconds * 1e9))); }

std::string off_by(double measured, double predicted) {
  return predicted > 0 ? fmt::format("{:+.1f}%", (measured / predicted - 1) * 100) : "-";
}

std::vector<std::string> row_of(const char* labels, const trial::TrialTimes& times) {
  return {labels,
          time_of(times.measured),
          time_of(times.predicted),
          off_by(times.measured, times.predicted),
          times.by_packets > 0 ? time_of(times.by_packets) : "-",
          off_by(times.measured, times.by_packets),
          fmt::format("{}", times.packets),
          fmt::format("{}", times.sent_again)};
}

void print_links(const Fabric& fabric, const trial::TrialSummary& summary) {
  if (!summary.worst) return;
  const trial::ChannelBytes& worst = *summary.worst;
  fmt::print("\n");
  print_wrapped(fmt::format(
      "{} channels carried assigned flows; farthest from the plan: {}, {:.0f} of {:.0f} bytes ({})",
      summary.channels, fabric.name_of(worst.channel), worst.counted, worst.planned,
      off_by(worst.counted, worst.planned)));
}

void print_after_failure(const Fabric& fabric, LinkId link, const trial::TrialAfterFailure& after) {
  const std::string name = fabric.name_of(link);
  fmt::print("\n");
  print_wrapped(name + " down:");
  print_wrapped(
      fmt::format("the labels of before: {} of {} QPs stuck", after.stuck.unfinished, after.stuck.qps), 2);
  std::string blamed;
  for (const LinkId one : after.blamed) blamed += (blamed.empty() ? ": " : ", ") + fabric.name_of(one);
  print_wrapped(fmt::format("paths mapped anew in {}, diagnosis in {}: {}{}", time_of(after.mapping),
                            time_of(after.diagnosing), to_string(after.verdict), blamed),
                2);
  const std::string first = after.first_byte
                                ? fmt::format("first byte {} after the diagnosis", time_of(*after.first_byte))
                                : "no byte acknowledged";
  const std::string in_force = after.in_force
                                   ? fmt::format("all in force after {}", time_of(*after.in_force))
                                   : fmt::format("not in force: {} of {} QPs were never acknowledged",
                                                 after.unacknowledged, after.again.qps);
  print_wrapped(fmt::format("{} QPs on another path, assigned in {}; {}, {}", after.moved,
                            time_of(after.assigning), first, in_force),
                2);
  print_wrapped(fmt::format("done in {}, predicted {} ({}); {} of {} QPs unfinished; {:.0f} bytes over {}",
                            time_of(after.again.measured), time_of(after.again.predicted),
                            off_by(after.again.measured, after.again.predicted), after.again.unfinished,
                            after.again.qps, bytes_over(after.again, link), name),
                2);
}

void print_table(const Fabric& fabric, const BalanceOptions& options,
                 const trial::TrialOptions& trial_options, const trial::BalanceTrial& trial,
                 const trial::TrialSummary& summary) {
  print_wrapped(fmt::format("{} on {}, {} QP{} a flow, {} labels a pair; medians of {}", options.asked.name,
                            fabric.name(), options.assign.qps, options.assign.qps == 1 ? "" : "s",
                            trial_options.labels, trial_options.repeats));
  TextTable table({{"labels"},
                   {"time", true},
                   {"predicted", true},
                   {"off", true},
                   {"by packets", true},
                   {"off", true},
                   {"packets", true},
                   {"again", true}});
  table.add(row_of("assigned", summary.steered));
  table.add(row_of("random", summary.hashed));
  table.add({"gain", fmt::format("{:.2f}", summary.gain_measured),
             fmt::format("{:.2f}", summary.gain_predicted),
             off_by(summary.gain_measured, summary.gain_predicted), "", "", "", ""});
  fmt::print("\n{}", table.text(terminal_columns()));
  print_links(fabric, summary);
  if (trial.after_failure()) print_after_failure(fabric, *trial_options.fail, *trial.after_failure());
  for (const std::string& complaint : summary.complaints) {
    fmt::print("\n");
    print_wrapped("not as it should be: " + complaint);
  }
}

}  // namespace

int answer_trial(const Fabric& fabric, const BalanceOptions& options,
                 const trial::TrialOptions& trial_options, const trial::BalanceTrial& trial) {
  const trial::TrialSummary summary = summarize(fabric, trial_options, trial);
  if (options.output == OutputFormat::json)
    fmt::print("{}\n", trial_json(fabric, options, trial_options, trial, summary));
  else
    print_table(fabric, options, trial_options, trial, summary);
  const bool all = print_unassigned(options.asked, trial.assignment()) == 0;
  return all && summary.complaints.empty() ? kExitHealthy : kExitDegraded;
}

}  // namespace weft::cli
