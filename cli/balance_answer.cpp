#include "cli/balance_answer.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "balancer/assign/assignment_json.hpp"
#include "balancer/assign/label_bound.hpp"
#include "cli/exit_status.hpp"
#include "cli/stamp.hpp"
#include "topology/model/fabric.hpp"

namespace weft::cli {
namespace {

constexpr std::size_t kRowsForPeople = 64;
constexpr std::size_t kMaxUnassignedShown = 10;
constexpr double kTiny = 1e-9;

std::string size_of(double bytes) { return to_string(Bytes(std::llround(bytes))); }

void print_phases(const Fabric& fabric, const assign::Assignment& assignment) {
  fmt::print("{:<24} {:>10} {:>10} {:>7} {:>10} {:>10}  {}\n", "phase", "bound", "busiest", "ratio",
             "fractional", "NIC", "busiest channel");
  for (const assign::PhaseAssignment& phase : assignment.phases)
    fmt::print("{:<24} {:>10} {:>10} {:>7.3f} {:>10} {:>10}  {}\n", phase.name,
               size_of(phase.bounds.integral), size_of(phase.load.busiest), phase.load.ratio,
               size_of(phase.bounds.fractional), size_of(phase.bounds.nic),
               phase.load.channel ? fabric.name_of(*phase.load.channel) : "none");
}

/// Where the labels known allow less than the fabric: both bounds, and what more labels would bring.
void print_label_bounds(const assign::Assignment& assignment) {
  for (const assign::PhaseAssignment& phase : assignment.phases) {
    if (!phase.labels || phase.labels->bound <= phase.bounds.integral * (1 + kTiny)) continue;
    const assign::LabelReport& labels = *phase.labels;
    fmt::print(
        "\n{}: no assignment over the paths whose labels are known does with less than {}: the busiest is "
        "{:.3f} "
        "times that.\nThe fabric would do with {}, {:.1f} times less: {} of {} pairs know fewer than their "
        "{} "
        "paths; {} labels a pair find all of them with 99 %.\n",
        phase.name, size_of(labels.bound), phase.load.busiest / labels.bound, size_of(phase.bounds.integral),
        labels.bound / phase.bounds.integral, labels.pairs_short, labels.pairs, labels.paths,
        assign::labels_for(labels.paths));
  }
}

/// Whoever receives from several NICs at once queues what they send: the order in which nobody has to.
void print_turns(const demand::Demand& demand, const assign::Assignment& assignment) {
  std::uint32_t turns = 0;
  for (const demand::Phase& phase : demand.phases)
    for (const demand::Flow& flow : phase.flows) turns = std::max(turns, flow.turn);
  if (turns > 1 && !assignment.phases.empty())
    fmt::print(
        "\n{} turns: a NIC is to send its flows in rotation, in the order below; then no NIC receives from "
        "two "
        "at once\n",
        turns);
}

void print_qp(const Fabric& fabric, const demand::Flow& flow, const assign::SteeredQp& qp) {
  std::string path;
  for (const ChannelId channel : qp.route.channels())
    path += (path.empty() ? "" : " ") + fabric.name_of(channel);
  fmt::print("{:<12} {:<12} {:>4} {:>10} {:>8}  {}\n", fabric.name_of_nic(flow.src),
             fabric.name_of_nic(flow.dst), qp.qp, size_of(qp.bytes),
             qp.label ? fmt::to_string(qp.label->value()) : "-", path.empty() ? "within its leaf" : path);
}

void print_qps(const Fabric& fabric, const demand::Demand& demand, const assign::Assignment& assignment) {
  std::size_t left = kRowsForPeople;
  std::size_t more = 0;
  fmt::print("\n{:<12} {:<12} {:>4} {:>10} {:>8}  {}\n", "from", "to", "QP", "bytes", "label", "path");
  for (std::size_t p = 0; p < assignment.phases.size(); ++p)
    for (const assign::SteeredQp& qp : assignment.phases[p].qps) {
      if (left == 0) {
        ++more;
        continue;
      }
      --left;
      print_qp(fabric, demand.phases[p].flows[qp.flow], qp);
    }
  if (more > 0) fmt::print("... and {} more: -o json lists all\n", more);
}

void print_moves(const assign::Assignment& assignment) {
  std::uint64_t moves = 0;
  for (const assign::PhaseAssignment& phase : assignment.phases) moves += phase.moves;
  fmt::print("\n{} QPs take another path than before\n", moves);
}

void print_table(const Fabric& fabric, const BalanceOptions& options, const assign::Assignment& assignment) {
  fmt::print("{} on {}, {} QP{} a flow; bytes on a link of {}\n\n", options.asked.name, fabric.name(),
             options.assign.qps, options.assign.qps == 1 ? "" : "s", to_string(assignment.reference));
  print_phases(fabric, assignment);
  print_label_bounds(assignment);
  if (options.previous) print_moves(assignment);
  print_turns(options.asked.demand, assignment);
  print_qps(fabric, options.asked.demand, assignment);
}

}  // namespace

std::size_t print_unassigned(const AskedDemand& asked, const assign::Assignment& assignment) {
  std::vector<assign::Unassigned> all;
  for (const demand::RefusedFlow& line : asked.refused) all.push_back({line.flow, line.why});
  for (const assign::PhaseAssignment& phase : assignment.phases)
    all.insert(all.end(), phase.unassigned.begin(), phase.unassigned.end());
  const auto shown = std::min(all.size(), kMaxUnassignedShown);
  for (std::size_t i = 0; i < shown; ++i)
    print_stderr("weft: not assigned: {}: {}\n", all[i].flow, all[i].why);
  if (all.size() > shown)
    print_stderr("weft: {} more flows are not assigned: -o json has them\n", all.size() - shown);
  return all.size();
}

int answer_balance(const Fabric& fabric, const BalanceOptions& options,
                   const assign::Assignment& assignment) {
  if (options.json)
    fmt::print("{}",
               assignment_json(fabric, options.asked.demand, assignment, options.asked.refused, stamp_now()));
  else
    print_table(fabric, options, assignment);
  return print_unassigned(options.asked, assignment) > 0 ? kExitDegraded : kExitHealthy;
}

}  // namespace weft::cli
