#include "cli/trial_answer.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "balancer/trial/trial_summary.hpp"
#include "cli/balance_answer.hpp"
#include "cli/exit_status.hpp"
#include "cli/stamp.hpp"
#include "cli/trial_json.hpp"

namespace weft {
namespace {

std::string time_of(double seconds) { return to_string(Nanoseconds(std::llround(seconds * 1e6) * 1000)); }
std::string off_by(double measured, double predicted) {
  return predicted > 0 ? fmt::format("{:+.1f}%", (measured / predicted - 1) * 100) : "-";
}

void print_row(const char* labels, const TrialTimes& times) {
  fmt::print("{:<10} {:>10} {:>10} {:>8} {:>10} {:>8} {:>10} {:>11}\n", labels, time_of(times.measured),
             time_of(times.predicted), off_by(times.measured, times.predicted),
             times.by_packets > 0 ? time_of(times.by_packets) : "-", off_by(times.measured, times.by_packets),
             times.packets, times.sent_again);
}

void print_links(const Fabric& fabric, const TrialSummary& summary) {
  if (!summary.worst) return;
  const ChannelBytes& worst = *summary.worst;
  fmt::print(
      "\n{} channels carried assigned flows; farthest from the plan: {}, {:.0f} of {:.0f} bytes ({})\n",
      summary.channels, fabric.name_of(worst.channel), worst.counted, worst.planned,
      off_by(worst.counted, worst.planned));
}

void print_after_failure(const Fabric& fabric, LinkId link, const TrialAfterFailure& after) {
  const std::string name = fabric.name_of(link);
  fmt::print("\n{} down:\n", name);
  fmt::print("  the labels of before: {} of {} QPs stuck\n", after.stuck.unfinished, after.stuck.qps);
  std::string blamed;
  for (const LinkId one : after.blamed) blamed += (blamed.empty() ? ": " : ", ") + fabric.name_of(one);
  fmt::print("  paths mapped anew in {}, diagnosis in {}: {}{}\n", time_of(after.mapping),
             time_of(after.diagnosing), to_string(after.verdict), blamed);
  fmt::print(
      "  {} QPs on another path, assigned in {}; first byte {} after the diagnosis, all in force after {}\n",
      after.moved, time_of(after.assigning), time_of(after.first_byte), time_of(after.in_force));
  fmt::print("  done in {}, predicted {} ({}); {} of {} QPs unfinished; {:.0f} bytes over {}\n",
             time_of(after.again.measured), time_of(after.again.predicted),
             off_by(after.again.measured, after.again.predicted), after.again.unfinished, after.again.qps,
             bytes_over(after.again, link), name);
}

void print_table(const Fabric& fabric, const BalanceOptions& options, const TrialOptions& trial_options,
                 const BalanceTrial& trial, const TrialSummary& summary) {
  fmt::print("{} on {}, {} QP{} a flow, {} labels a pair; medians of {}\n\n", options.asked.name,
             fabric.name(), options.assign.qps, options.assign.qps == 1 ? "" : "s", trial_options.labels,
             trial_options.repeats);
  fmt::print("{:<10} {:>10} {:>10} {:>8} {:>10} {:>8} {:>10} {:>11}\n", "labels", "time", "predicted", "off",
             "by packets", "off", "packets", "sent again");
  print_row("assigned", summary.steered);
  print_row("random", summary.hashed);
  fmt::print("{:<10} {:>10.2f} {:>10.2f} {:>8}\n", "gain", summary.gain_measured, summary.gain_predicted,
             off_by(summary.gain_measured, summary.gain_predicted));
  print_links(fabric, summary);
  if (trial.after_failure()) print_after_failure(fabric, *trial_options.fail, *trial.after_failure());
  for (const std::string& complaint : summary.complaints)
    fmt::print("\nnot as it should be: {}\n", complaint);
}

}  // namespace

int answer_trial(const Fabric& fabric, const BalanceOptions& options, const TrialOptions& trial_options,
                 const BalanceTrial& trial) {
  const TrialSummary summary = summarize(fabric, trial_options, trial);
  if (options.json)
    fmt::print("{}\n", trial_json(fabric, options, trial_options, trial, summary, stamp_now()));
  else
    print_table(fabric, options, trial_options, trial, summary);
  const bool all = print_unassigned(options.asked, trial.assignment()) == 0;
  return all && summary.complaints.empty() ? kExitHealthy : kExitDegraded;
}

}  // namespace weft
