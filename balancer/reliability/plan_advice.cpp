// What a plan says beside its forecast: closed forms, sweeps, blast radius, parts on the shelf, what to
// improve first.
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <span>

#include "balancer/reliability/ageing.hpp"
#include "balancer/reliability/planner.hpp"

namespace weft::reliability {
namespace {

constexpr double kOnShelf = 0.99;
constexpr double kTenth = 0.9;
constexpr double kVisible = 0.002;  // a difference between closed form and simulation that is explained

Job with_less_often(Job job, std::size_t cause) {
  job.rate_factor[cause] *= kTenth;
  return job;
}

}  // namespace

double lost_to(const files::ClassRates& rates, const Job& job) {
  StepTime step;
  step.note(static_cast<std::size_t>(rates.part), 1 / rates.slow_to);
  return 1 - 1 / step.over_whole(job.network_share);
}

void Planner::note_closed_forms() {
  const Job& job = plan_.job;
  plan_.closed_form =
      efficiency(job.checkpoint_every, job.checkpoint_cost, job.down(), plan_.mean_to_failure);
  plan_.young = young_interval(job.checkpoint_cost, plan_.mean_to_failure);
  plan_.daly = daly_interval(job.checkpoint_cost, plan_.mean_to_failure);
  double slow_rate = 0, slowdown = 0;  // of what no one notices without a sweep
  for (const files::ClassRates& each : rates_.classes) {
    const auto cause = static_cast<std::size_t>(each.part);
    const double rate = failures_a_part(each, plan_.length) / plan_.length.count() *
                        static_cast<double>(plant_.count(each.part));
    if (each.part <= PartClass::host_cable)
      plan_.hosts_out += rate * share_of_job(cause, Of::stopping_pool) * each.stops *
                         files::mean_repair(each.repair).count() * job.repair_factor[cause];
    if (each.silent <= 0) continue;
    const double silent = rate * share_of_job(cause, Of::job) * each.silent;
    slow_rate += silent, slowdown += silent * lost_to(each, job);
  }
  for (SpareStep& each : plan_.steps)
    each.independent = static_cast<Index>(poisson_quantile(each.asked, plan_.hosts_out));
  if (slow_rate > 0 && slowdown > 0)
    plan_.sweep_every = sweep_interval(job.sweeps.cost, slow_rate, slowdown / slow_rate);
}

/// Why the simulation is elsewhere than the formulas, in words.
void Planner::note_differences() {
  if (std::abs(plan_.effective.mean - plan_.closed_form) > kVisible) {
    if (plan_.spent.waiting > plan_.length * kVisible / 4)
      plan_.differs.emplace_back("the formula knows no waiting for hosts");
    if (plan_.spent.slow > plan_.length * kVisible / 4)
      plan_.differs.emplace_back(
          "the formula knows no slow links; of several that are slow at once the narrowest counts alone");
    if (plan_.job.planned.every > Hours(0)) plan_.differs.emplace_back("the formula knows no planned work");
    if (plan_.spent.shrunk > Hours(0)) plan_.differs.emplace_back("the formula knows no smaller job");
    if (plan_.differs.empty())
      plan_.differs.emplace_back(
          "rates differ from history to history, and the formula has their mean; failures of groups come as "
          "one");
  }
  for (const SpareStep& each : plan_.steps)
    if (each.spares && *each.spares > each.independent + each.independent / 10 + 2) {
      std::vector<std::string> reasons;
      if (plan_.largest_group > 1)
        reasons.push_back(fmt::format("hosts fail in groups (up to {} at once)", plan_.largest_group));
      if (plan_.job.crews > 0) reasons.emplace_back("repairs wait for a crew");
      if (plan_.job.planned.every > Hours(0)) reasons.emplace_back("planned work takes hosts too");
      if (reasons.empty()) reasons.emplace_back("rates differ from history to history");
      plan_.differs.push_back(fmt::format("{}: independent ones would need {} for {}, not {} spares",
                                          fmt::join(reasons, ", "), each.independent, each.asked,
                                          *each.spares));
      break;
    }
}

void Planner::note_sweeps() {
  const auto is_silent = [](const files::ClassRates& each) { return each.silent > 0; };
  if (std::ranges::none_of(rates_.classes, is_silent)) return note_if_silent();
  std::vector<Sweeps> policies;
  for (const SweepPolicy policy : {SweepPolicy::before_job, SweepPolicy::at_restart, SweepPolicy::agents}) {
    policies.push_back(plan_.job.sweeps);
    policies.back().policy = policy;
  }
  for (const double factor : {0.5, 1.0, 2.0})
    if (plan_.sweep_every && *plan_.sweep_every * factor > plan_.job.sweeps.cost) {
      policies.push_back(plan_.job.sweeps);
      policies.back().policy = SweepPolicy::every;
      policies.back().every = *plan_.sweep_every * factor;
    }
  begin("comparing sweeps", policies.size() * histories_.size());
  for (const Sweeps& each : policies) {
    Job job = plan_.job;
    job.sweeps = each;
    const auto outcomes = run_all(source_, histories_, job);
    SweepRow row{.policy = sweeps_text(each), .effective = mean_of(shares_of(outcomes))};
    const double n = static_cast<double>(outcomes.size());
    for (const Outcome& outcome : outcomes) {
      row.cost += outcome.time.sweeps / outcome.length / n;
      row.undetected += outcome.undetected / n;
    }
    plan_.sweeps.push_back(row);
  }
}

/// What these take away together: hosts, those at leaves that go, those below bundles of which nothing is
/// left, and of other bundles a part.
BlastRow Planner::blast_of(std::string what, const std::vector<Index>& hosts,
                           const std::vector<Index>& switches) const {
  std::set<Index> taken(hosts.begin(), hosts.end()), cables;
  for (const Index one : switches)
    if (const Switch& each = plant_.switches[one]; each.part != PartClass::leaf)
      cables.insert(each.cables.begin(), each.cables.end());
    else
      std::ranges::copy_if(each.hosts, std::inserter(taken, taken.end()),
                           [&](Index host) { return stops_at(one, host); });
  std::map<Index, double> missing;  // capacity, by bundle
  for (const Index cable : cables) missing[plant_.cables[cable].bundle] += plant_.cables[cable].rate;
  BlastRow row{.what = std::move(what)};
  for (const auto& [number, rate] : missing) {
    const Bundle& bundle = plant_.bundles[number];
    const double left = bundle.capacity - rate;
    const bool crossed = !(bundle.leaf || bundle.pod) || bundle.below.size() < plant_.nic_host.size();
    if (left > bundle.capacity * 1e-9)
      row.slowdown = std::max(row.slowdown, bundle.capacity / left);
    else if (crossed)
      taken.insert(bundle.below.begin(), bundle.below.end());
  }
  row.hosts = taken.size();
  return row;
}

void Planner::note_blast() {
  constexpr std::array kTierNames{"leaf", "spine", "core"};
  for (std::size_t tier = 0; tier < std::size(plant_.of_tier); ++tier) {
    std::map<std::pair<std::size_t, double>, std::size_t> alike;
    for (const Index each : plant_.of_tier[tier]) {
      const BlastRow row = blast_of({}, {}, {each});
      ++alike[{row.hosts, row.slowdown}];
    }
    for (const auto& [figures, count] : alike) {
      plan_.blast.push_back({.what = fmt::format("a {} ({} of them)", kTierNames[tier], count),
                             .hosts = figures.first,
                             .slowdown = figures.second});
      plan_.largest_group = std::max(plan_.largest_group, figures.first);
    }
  }
  for (const Domain& each : plant_.domains) {
    plan_.blast.push_back(
        blast_of(fmt::format("domain {} ({})", each.name, each.kind), each.hosts, each.switches));
    plan_.largest_group = std::max(plan_.largest_group, plan_.blast.back().hosts);
  }
  std::ranges::stable_sort(plan_.blast, std::ranges::greater(), &BlastRow::hosts);
}

/// What fails within the lead time, by what stands on a shelf.
void Planner::note_shelf() {
  const auto add = [&](const char* what, std::initializer_list<PartClass> classes, double each_has) {
    std::vector<CountSource> sources;
    for (const PartClass part : classes)
      if (const auto* rates = rates_.find(part); rates != nullptr && plant_.count(part) > 0)
        sources.push_back(
            failures_source(*rates, static_cast<double>(plant_.count(part)), request_.lead_time));
    if (sources.empty()) return;
    double mean = 0;
    for (const CountSource& each : sources) mean += each.events * each.share;
    const auto parts = count_quantile(sources, kOnShelf);
    plan_.shelf.push_back(
        {what, mean * each_has, static_cast<std::uint64_t>(static_cast<double>(parts) * each_has)});
  };
  add("GPUs", {PartClass::gpu}, 1);
  add("NICs", {PartClass::nic}, 1);
  add("optics", {PartClass::host_cable, PartClass::switch_cable}, 2);  // both ends of a cable
  add("switches", {PartClass::leaf, PartClass::spine, PartClass::core}, 1);
}

/// The job with a tenth less of each time that it has.
std::vector<std::pair<std::string, Job>> Planner::shorter_times() const {
  std::vector<std::pair<std::string, Job>> times;
  const auto add = [&](const char* what, auto change) { change(times.emplace_back(what, plan_.job).second); };
  const auto some = [&](double files::ClassRates::*share) {
    return std::ranges::any_of(rates_.classes, [&](const auto& each) { return each.*share > 0; });
  };
  const Sweeps& sweeps = plan_.job.sweeps;
  add("time: detection", [](Job& job) { job.detect *= kTenth; });
  add("time: restart", [](Job& job) { job.restart *= kTenth; });
  add("time: cost of a checkpoint", [](Job& job) { job.checkpoint_cost *= kTenth; });
  add("time: repairs", [](Job& job) {
    for (double& each : job.repair_factor) each *= kTenth;
  });
  if (plan_.job.spare_start > Hours(0))
    add("time: start of a spare", [](Job& job) { job.spare_start *= kTenth; });
  if (some(&files::ClassRates::slows))
    add("time: until what is slow is found", [](Job& job) { job.find_slow *= kTenth; });
  if (sweeps.policy == SweepPolicy::at_restart || sweeps.policy == SweepPolicy::every)
    add("time: cost of a sweep", [](Job& job) { job.sweeps.cost *= kTenth; });
  if (sweeps.policy == SweepPolicy::agents && some(&files::ClassRates::silent))
    add("time: delay of agents", [](Job& job) { job.sweeps.delay *= kTenth; });
  return times;
}

void Planner::note_improvements() {
  const auto of_cause = [&](std::size_t cause, int samples) {
    return gain_of(fmt::format("failures: {}", cause_name(cause)), with_less_often(plan_.job, cause), cause,
                   samples);
  };
  const auto sort = [&] {
    std::ranges::stable_sort(plan_.improvements, std::ranges::greater(), &Gain::gain);
  };
  constexpr std::size_t kLookedAtAgain = 6;
  constexpr int kSamples = 5;
  const auto times = shorter_times();
  begin("what to improve",
        (plan_.causes.size() + times.size() + kLookedAtAgain * kSamples) * histories_.size());
  for (const CauseForecast& each : plan_.causes) plan_.improvements.push_back(of_cause(each.cause, 1));
  for (const auto& [what, job] : times) plan_.improvements.push_back(gain_of(what, job));
  sort();
  // A tenth of the failures of a class is a small sample: of those that may be among the first, more of them.
  for (Gain& each : std::span(plan_.improvements).first(std::min(plan_.improvements.size(), kLookedAtAgain)))
    for (const CauseForecast& cause : plan_.causes)
      if (each.what == fmt::format("failures: {}", cause_name(cause.cause)))
        each = of_cause(cause.cause, kSamples);
  sort();
}

Result<WhatIf> Planner::what_if_of(const std::string& text) const {
  WEFT_TRY(auto changed, parse_what_if(text, plan_.job));
  if (changed.job.spares > plant_.hosts - plan_.job.hosts)
    return fail(ErrorKind::usage, "'{}': {} has {} beside the job", text, plant_.name,
                counted(plant_.hosts - plan_.job.hosts, "host"));
  WEFT_TRY_VOID(check_times(changed.job));
  return changed;
}

Result<void> Planner::note_what_ifs() {
  begin("what if", request_.what_ifs.size() * histories_.size());
  for (const std::string& each : request_.what_ifs) {
    WEFT_TRY(auto changed, what_if_of(each));
    // Checkpoints follow what they cost and how often failures come, unless somebody said how far apart they
    // are.
    if (request_.best_interval && changed.job.checkpoint_every == plan_.job.checkpoint_every)
      changed.job.checkpoint_every = interval_of(changed.job);
    plan_.what_ifs.push_back(gain_of(each, changed.job));
  }
  return {};
}

}  // namespace weft::reliability
