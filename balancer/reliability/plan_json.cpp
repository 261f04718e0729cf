// A plan for programs: `weft.plan/1` (docs/schema/plan.schema.json).
#include <nlohmann/json.hpp>

#include "balancer/reliability/plan.hpp"
#include "topology/files/json_text.hpp"

namespace weft::reliability {
namespace {

using files::DocumentTree;

DocumentTree count_tree(const CountForecast& count) {
  return {{"mean", count.mean}, {"low", count.low}, {"high", count.high}};
}

DocumentTree gains_tree(const std::vector<Gain>& gains) {
  auto tree = DocumentTree::array();
  for (const Gain& each : gains)
    tree.push_back({{"what", each.what},
                    {"gain", each.gain},
                    {"low", each.low},
                    {"high", each.high},
                    {"unpaired", each.unpaired}});
  return tree;
}

double seconds(Hours time) { return time.count() * 3600; }

DocumentTree planned_tree(const PlannedWork& planned) {
  return {
      {"every_s", seconds(planned.every)}, {"length_s", seconds(planned.length)}, {"hosts", planned.hosts}};
}

DocumentTree job_tree(const Plan& plan) {
  return {{"gpus", plan.gpus},
          {"hosts", plan.job.hosts},
          {"spares", plan.job.spares},
          {"days", plan.length.count() / 24},
          {"detect_s", seconds(plan.job.detect)},
          {"restart_s", seconds(plan.job.restart)},
          {"checkpoint_every_s", seconds(plan.job.checkpoint_every)},
          {"checkpoint_cost_s", seconds(plan.job.checkpoint_cost)},
          {"network_share", plan.job.network_share},
          {"find_slow_s", seconds(plan.job.find_slow)},
          {"spare_start_s", seconds(plan.job.spare_start)},
          {"sweep_cost_s", seconds(plan.job.sweeps.cost)},
          {"agent_delay_s", seconds(plan.job.sweeps.delay)},
          {"lead_time_s", seconds(plan.lead_time)},
          {"sweeps", sweeps_text(plan.job.sweeps)}};
}

DocumentTree spent_tree(const Plan& plan) {
  const auto share = [&](Hours time) { return time / plan.length; };
  return {{"effective", share(plan.spent.effective)}, {"checkpoints", share(plan.spent.checkpoints)},
          {"repeated", share(plan.spent.repeated)},   {"detection", share(plan.spent.detection)},
          {"restart", share(plan.spent.restart)},     {"waiting", share(plan.spent.waiting)},
          {"slow", share(plan.spent.slow)},           {"sweeps", share(plan.spent.sweeps)},
          {"shrunk", share(plan.spent.shrunk)}};
}

void put_rows(DocumentTree& tree, const Plan& plan) {
  tree["causes"] = DocumentTree::array();
  for (const CauseForecast& each : plan.causes)
    tree["causes"].push_back({{"cause", cause_name(each.cause)},
                              {"events", each.source.events},
                              {"times", each.source.share},
                              {"interruptions", count_tree(each.interruptions)},
                              {"failures", count_tree(each.failures)},
                              {"rate_at_most_per_year", each.rate_at_most},
                              {"guessed", each.guessed}});
  tree["spares"] = DocumentTree::array();
  for (const SpareStep& each : plan.steps) {
    DocumentTree step{{"asked", each.asked}, {"independent", each.independent}};
    if (each.spares) step["spares"] = *each.spares;
    tree["spares"].push_back(std::move(step));
  }
  tree["sweeps"] = DocumentTree::array();
  for (const SweepRow& each : plan.sweeps)
    tree["sweeps"].push_back({{"policy", each.policy},
                              {"effective", each.effective},
                              {"cost", each.cost},
                              {"undetected_h", each.undetected.count()}});
  tree["blast"] = DocumentTree::array();
  for (const BlastRow& each : plan.blast)
    tree["blast"].push_back({{"what", each.what}, {"hosts", each.hosts}, {"slowdown", each.slowdown}});
  tree["shelf"] = DocumentTree::array();
  for (const ShelfRow& each : plan.shelf)
    tree["shelf"].push_back({{"what", each.what}, {"mean", each.mean}, {"parts", each.parts}});
}

DocumentTree span_tree(const Span& span) { return {{"least", span.least}, {"most", span.most}}; }

void put_where(DocumentTree& tree, const Plan& plan) {
  tree["short_of"] = plan.short_of;
  tree["where"] = DocumentTree::array();
  for (const WhereRow& each : plan.where) {
    DocumentTree row{{"kind", each.kind},
                     {"groups", each.groups},
                     {"hosts", span_tree(each.hosts)},
                     {"spares", span_tree(each.spares)},
                     {"steps", DocumentTree::array()}};
    for (std::size_t i = 0; i < each.of_step.size(); ++i)
      if (each.of_step[i])
        row["steps"].push_back({{"asked", plan.steps[i].asked}, {"spares", span_tree(*each.of_step[i])}});
    tree["where"].push_back(std::move(row));
  }
  tree["if_silent"] = DocumentTree::array();
  for (const SilentRow& each : plan.if_silent)
    tree["if_silent"].push_back({{"share", each.share}, {"sweep_every_h", each.sweep_every.count()}});
}

}  // namespace

std::string plan_json(const Plan& plan, const files::DocumentStamp& stamp) {
  DocumentTree tree = files::stamped_tree("weft.plan/1", stamp);
  tree["fabric"] = plan.fabric;
  for (const PartClass part : files::kPartClasses)
    tree["parts"][std::string(to_string(part))] = plan.parts[static_cast<std::size_t>(part)];
  tree["sentence"] = plan_sentence(plan);
  tree["rates"] = {{"origin", plan.origin}, {"is_own", plan.is_own}};
  tree["guesses"] = plan.guesses;
  tree["unknown_parts"] = plan.unknown_parts;
  tree["histories"] = plan.histories;
  tree["seed"] = plan.seed;
  tree["job"] = job_tree(plan);
  if (plan.job.planned.every > Hours(0)) tree["job"]["planned_work"] = planned_tree(plan.job.planned);
  tree["interruptions"] = count_tree(plan.interruptions);
  tree["effective"] = {{"mean", plan.effective.mean},
                       {"error", plan.effective.error},
                       {"low", plan.effective.low},
                       {"high", plan.effective.high}};
  tree["full_size"] = {{"share", plan.kept}, {"restarts", plan.restarts}};
  tree["time"] = spent_tree(plan);
  tree["closed_form"] = {
      {"effective", plan.closed_form},        {"mean_to_failure_h", plan.mean_to_failure.count()},
      {"young_s", plan.young.count() * 3600}, {"daly_s", plan.daly.count() * 3600},
      {"hosts_out", plan.hosts_out},          {"differs", plan.differs}};
  if (plan.sweep_every) tree["closed_form"]["sweep_every_h"] = plan.sweep_every->count();
  put_rows(tree, plan);
  tree["pods"] = DocumentTree::array();
  for (const PodRow& each : plan.pods)
    tree["pods"].push_back({{"pod", each.pod}, {"hosts", each.hosts}, {"spares", each.spares}});
  put_where(tree, plan);
  tree["largest_group"] = plan.largest_group;
  tree["drains_allowed"] = plan.drains_allowed;
  tree["cable_drains_allowed"] = plan.cable_drains_allowed;
  tree["offenders"] = DocumentTree::array();
  for (const OffenderRow& each : plan.offenders)
    tree["offenders"].push_back({{"class", to_string(each.part)},
                                 {"name", each.name},
                                 {"events", each.events},
                                 {"ratio", each.ratio},
                                 {"offender", each.offender}});
  tree["improvements"] = gains_tree(plan.improvements);
  tree["what_ifs"] = gains_tree(plan.what_ifs);
  return files::document_text(tree) + "\n";
}

}  // namespace weft::reliability
