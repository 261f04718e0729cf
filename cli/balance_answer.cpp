#include "cli/balance_answer.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "balancer/assign/assignment_json.hpp"
#include "balancer/assign/ecmp_spread.hpp"
#include "balancer/assign/label_bound.hpp"
#include "cli/exit_status.hpp"
#include "cli/output_files.hpp"
#include "cli/stamp.hpp"
#include "cli/terminal.hpp"
#include "collectors/report/path_table.hpp"
#include "topology/base/readable.hpp"
#include "topology/base/text_table.hpp"
#include "topology/files/row_text.hpp"
#include "topology/model/fabric.hpp"

namespace weft::cli {
namespace {

constexpr std::size_t kRowsForPeople = 64;
constexpr std::size_t kMaxUnassignedShown = 10;
constexpr double kTiny = 1e-9;

std::string size_of(double bytes) { return readable(Bytes(std::llround(bytes))); }

/// The bound for QPs of any shares stands beside that for equal ones where it is another.
void print_phases(const Fabric& fabric, const assign::Assignment& assignment) {
  const bool differ = std::ranges::any_of(assignment.phases, [](const assign::PhaseAssignment& phase) {
    return phase.bounds.fractional < phase.bounds.integral * (1 - kTiny);
  });
  std::vector<TextColumn> columns{{"phase"}, {"bound", true}, {"busiest", true}, {"ratio", true}};
  if (differ) columns.push_back({"fractional", true});
  columns.insert(columns.end(), {{"NIC", true}, {"busiest channel"}});
  TextTable table(columns);
  for (const assign::PhaseAssignment& phase : assignment.phases) {
    std::vector<std::string> row{phase.name, size_of(phase.bounds.integral), size_of(phase.load.busiest),
                                 fmt::format("{:.3f}", phase.load.ratio)};
    if (differ) row.push_back(size_of(phase.bounds.fractional));
    row.push_back(size_of(phase.bounds.nic));
    row.push_back(phase.load.channel ? fabric.name_of(*phase.load.channel) : "none");
    table.add(std::move(row));
  }
  fmt::print("{}", table.text(terminal_columns()));
}

/// What hashing would make of it: the worth of steering.
void print_gain(const assign::EcmpSpread& ecmp, const assign::Assignment& assignment) {
  if (ecmp.draws == 0 || assignment.busiest() <= 0) return;
  fmt::print("\n");
  print_wrapped(
      fmt::format("ECMP would put {} on the busiest link (mean of {} draws; 90 % of them between {} "
                  "and {}): {:.2f} times as much as this assignment",
                  size_of(ecmp.mean), ecmp.draws, size_of(ecmp.low), size_of(ecmp.high),
                  ecmp.mean / assignment.busiest()));
}

/// Where the labels known allow less than the fabric: both bounds, and what more labels would bring.
void print_label_bounds(const assign::Assignment& assignment) {
  for (const assign::PhaseAssignment& phase : assignment.phases) {
    if (!phase.labels || phase.labels->bound <= phase.bounds.integral * (1 + kTiny)) continue;
    const assign::LabelReport& labels = *phase.labels;
    fmt::print("\n");
    print_wrapped(fmt::format(
        "{}: no assignment over the paths whose labels are known does with less than {}: the busiest is "
        "{:.3f} "
        "times that. The fabric would do with {}, {:.1f} times less: {} of {} pairs know fewer than their {} "
        "paths; {} labels a pair find all of them with 99 %.",
        phase.name, size_of(labels.bound), phase.load.busiest / labels.bound, size_of(phase.bounds.integral),
        labels.bound / phase.bounds.integral, labels.pairs_short, labels.pairs, labels.paths,
        assign::labels_for(labels.paths)));
  }
}

/// Whoever receives from several NICs at once queues what they send: the order in which nobody has to.
void print_turns(const demand::Demand& demand, const assign::Assignment& assignment) {
  std::uint32_t turns = 0;
  for (const demand::Phase& phase : demand.phases)
    for (const demand::Flow& flow : phase.flows) turns = std::max(turns, flow.turn);
  if (turns <= 1 || assignment.phases.empty()) return;
  fmt::print("\n");
  print_wrapped(
      fmt::format("{} turns: a NIC is to send its flows in rotation, in the order below; then no NIC "
                  "receives from two at once",
                  turns));
}

std::vector<std::string> row_of(const Fabric& fabric, const demand::Flow& flow, const assign::SteeredQp& qp) {
  std::vector<ChannelId> channels(qp.route.channels().begin(), qp.route.channels().end());
  return {fabric.name_of_nic(flow.src),
          fabric.name_of_nic(flow.dst),
          fmt::format("{}", qp.qp),
          size_of(qp.bytes),
          qp.label ? fmt::to_string(qp.label->value()) : "-",
          channels.empty() ? "within its leaf" : report::path_chain(fabric, channels)};
}

void print_qps(const Fabric& fabric, const demand::Demand& demand, const assign::Assignment& assignment) {
  TextTable table({{"from"}, {"to"}, {"QP", true}, {"bytes", true}, {"label", true}, {"path"}});
  std::size_t left = kRowsForPeople;
  std::size_t more = 0;
  for (std::size_t p = 0; p < assignment.phases.size(); ++p)
    for (const assign::SteeredQp& qp : assignment.phases[p].qps) {
      if (left == 0) {
        ++more;
        continue;
      }
      --left;
      table.add(row_of(fabric, demand.phases[p].flows[qp.flow], qp));
    }
  fmt::print("\n{}", table.text(terminal_columns()));
  if (more > 0) fmt::print("... and {} more: -o json, jsonl or csv list all\n", more);
}

void print_moves(const assign::Assignment& assignment) {
  std::uint64_t moves = 0;
  for (const assign::PhaseAssignment& phase : assignment.phases) moves += phase.moves;
  fmt::print("\n{} QPs take another path than before\n", moves);
}

void print_table(const Fabric& fabric, const BalanceOptions& options, const assign::Assignment& assignment) {
  const demand::Demand& demand = options.asked.demand;
  print_wrapped(fmt::format("{} on {}, {} QP{} a flow; bytes on a link of {}", options.asked.name,
                            fabric.name(), options.assign.qps, options.assign.qps == 1 ? "" : "s",
                            readable(assignment.reference)));
  fmt::print("\n");
  print_phases(fabric, assignment);
  print_gain(ecmp_spread(fabric, demand, options.assign), assignment);
  print_label_bounds(assignment);
  if (options.previous) print_moves(assignment);
  print_turns(demand, assignment);
  print_qps(fabric, demand, assignment);
}

/// A row for each QP.
files::RowSet rows_of(const Fabric& fabric, const demand::Demand& demand,
                      const assign::Assignment& assignment) {
  files::RowSet set{.columns = {"phase", "src", "dst", "turn", "qp", "bytes", "label", "path"}, .rows = {}};
  for (std::size_t p = 0; p < assignment.phases.size(); ++p)
    for (const assign::SteeredQp& qp : assignment.phases[p].qps) {
      const demand::Flow& flow = demand.phases[p].flows[qp.flow];
      std::vector<std::string> path{fabric.name_of(*fabric.channel_from(flow.src))};
      for (const ChannelId channel : qp.route.channels()) path.push_back(fabric.name_of(channel));
      path.push_back(fabric.name_of(*fabric.channel_into(flow.dst)));
      set.rows.push_back(
          {assignment.phases[p].name, fabric.name_of_nic(flow.src), fabric.name_of_nic(flow.dst),
           std::int64_t{flow.turn}, std::int64_t{qp.qp}, qp.bytes,
           qp.label ? files::RowValue(std::int64_t{qp.label->value()}) : files::RowValue(), std::move(path)});
    }
  return set;
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
  const demand::Demand& demand = options.asked.demand;
  switch (options.output) {
    case OutputFormat::table:
      print_table(fabric, options, assignment);
      break;
    case OutputFormat::json:
      fmt::print("{}", assignment_json(fabric, demand, assignment, options.asked.refused, stamp_now(),
                                       ecmp_spread(fabric, demand, options.assign)));
      break;
    case OutputFormat::jsonl:
      fmt::print("{}", files::json_lines(rows_of(fabric, demand, assignment)));
      break;
    case OutputFormat::csv:
      fmt::print("{}", files::csv_text(rows_of(fabric, demand, assignment)));
      break;
  }
  if (options.html) {
    const auto json = assignment_json(fabric, demand, assignment, options.asked.refused, stamp_now(),
                                      ecmp_spread(fabric, demand, options.assign));
    if (const auto written = write_html(options.html, json, {&fabric}); !written)
      return report(written.error());
  }
  return print_unassigned(options.asked, assignment) > 0 ? kExitDegraded : kExitHealthy;
}

}  // namespace weft::cli
