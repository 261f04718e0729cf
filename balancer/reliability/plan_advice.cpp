// What a plan says beside its forecast: closed forms, sweeps, blast radius, parts on the shelf, what to
// improve first.
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <span>

#include "balancer/reliability/ageing.hpp"
#include "balancer/reliability/plan_parts.hpp"

namespace weft::reliability {
namespace {

constexpr double kOnShelf = 0.99;
constexpr double kTenth = 0.9;
constexpr double kVisible = 0.002;  // a difference between closed form and simulation that is explained
constexpr double kProbable = 0.5;   // of an offender

/// Of the time of a job that one slow part of this class slows.
double lost_to(const files::ClassRates& rates, const Job& job) {
  StepTime step;
  step.note(static_cast<std::size_t>(rates.part), 1 / rates.slow_to);
  return 1 - 1 / step.over_whole(job.network_share);
}

bool has_silent(const files::Rates& rates) {
  return std::ranges::any_of(rates.classes, [](const auto& each) { return each.silent > 0; });
}

/// Before the job, at restarts, by agents, and at times around the best one.
std::vector<Sweeps> sweeps_to_compare(const Sweeps& sweeps, const std::optional<Hours>& sweep_every) {
  std::vector<Sweeps> policies;
  for (const SweepPolicy policy : {SweepPolicy::before_job, SweepPolicy::at_restart, SweepPolicy::agents}) {
    policies.push_back(sweeps);
    policies.back().policy = policy;
  }
  for (const double factor : {0.5, 1.0, 2.0})
    if (sweep_every && *sweep_every * factor > sweeps.cost) {
      policies.push_back(sweeps);
      policies.back().policy = SweepPolicy::every;
      policies.back().every = *sweep_every * factor;
    }
  return policies;
}

/// What these take away together: hosts, those at leaves that go, those below bundles of which nothing is
/// left, and of other bundles a part.
BlastRow blast_of(const Plant& plant, const Job& job, std::string what, const std::vector<Index>& hosts,
                  const std::vector<Index>& switches) {
  std::set<Index> taken(hosts.begin(), hosts.end()), cables;
  for (const Index one : switches)
    if (const Switch& each = plant.switches[one]; each.part != PartClass::leaf)
      cables.insert(each.cables.begin(), each.cables.end());
    else
      std::ranges::copy_if(each.hosts, std::inserter(taken, taken.end()),
                           [&](Index host) { return stops_at(plant, job, one, host); });
  std::map<Index, double> missing;  // capacity, by bundle
  for (const Index cable : cables) missing[plant.cables[cable].bundle] += plant.cables[cable].rate;
  BlastRow row{.what = std::move(what)};
  for (const auto& [number, rate] : missing) {
    const Bundle& bundle = plant.bundles[number];
    const double left = bundle.capacity - rate;
    const bool crossed = !(bundle.leaf || bundle.pod) || bundle.below.size() < plant.nic_host.size();
    if (left > bundle.capacity * 1e-9)
      row.slowdown = std::max(row.slowdown, bundle.capacity / left);
    else if (crossed)
      taken.insert(bundle.below.begin(), bundle.below.end());
  }
  row.hosts = taken.size();
  return row;
}

/// The job with a tenth less of each time that it has.
std::vector<std::pair<std::string, Job>> shorter_times(const Job& job, const files::Rates& rates) {
  std::vector<std::pair<std::string, Job>> times;
  const auto add = [&](const char* what, auto change) { change(times.emplace_back(what, job).second); };
  const auto some = [&](double files::ClassRates::*share) {
    return std::ranges::any_of(rates.classes, [&](const auto& each) { return each.*share > 0; });
  };
  const Sweeps& sweeps = job.sweeps;
  add("time: detection", [](Job& shorter) { shorter.detect *= kTenth; });
  add("time: restart", [](Job& shorter) { shorter.restart *= kTenth; });
  add("time: cost of a checkpoint", [](Job& shorter) { shorter.checkpoint_cost *= kTenth; });
  add("time: repairs", [](Job& shorter) {
    for (double& each : shorter.repair_factor) each *= kTenth;
  });
  if (job.spare_start > Hours(0))
    add("time: start of a spare", [](Job& shorter) { shorter.spare_start *= kTenth; });
  if (some(&files::ClassRates::slows))
    add("time: until what is slow is found", [](Job& shorter) { shorter.find_slow *= kTenth; });
  if (sweeps.policy == SweepPolicy::at_restart || sweeps.policy == SweepPolicy::every)
    add("time: cost of a sweep", [](Job& shorter) { shorter.sweeps.cost *= kTenth; });
  if (sweeps.policy == SweepPolicy::agents && some(&files::ClassRates::silent))
    add("time: delay of agents", [](Job& shorter) { shorter.sweeps.delay *= kTenth; });
  return times;
}

}  // namespace

ClosedForms closed_forms(const HistorySource& source, const Job& job, Hours length, Hours mean_to_failure) {
  ClosedForms made{
      .effective = efficiency(job.checkpoint_every, job.checkpoint_cost, job.down(), mean_to_failure),
      .young = young_interval(job.checkpoint_cost, mean_to_failure),
      .daly = daly_interval(job.checkpoint_cost, mean_to_failure),
      .sweep_every = {}};
  double slow_rate = 0, slowdown = 0;  // of what no one notices without a sweep
  for (const files::ClassRates& each : source.rates().classes) {
    const auto cause = static_cast<std::size_t>(each.part);
    const double rate =
        failures_a_part(each, length) / length.count() * static_cast<double>(source.plant().count(each.part));
    if (each.part <= PartClass::host_cable)
      made.hosts_out += rate * share_of_failures(source, job, cause, PartsOf::stopping_pool) * each.stops *
                        files::mean_repair(each.repair).count() * job.repair_factor[cause];
    if (each.silent <= 0) continue;
    const double silent = rate * share_of_failures(source, job, cause, PartsOf::job) * each.silent;
    slow_rate += silent, slowdown += silent * lost_to(each, job);
  }
  if (slow_rate > 0 && slowdown > 0)
    made.sweep_every = sweep_interval(job.sweeps.cost, slow_rate, slowdown / slow_rate);
  return made;
}

std::vector<std::string> differences(const Plan& plan) {
  std::vector<std::string> differs;
  if (std::abs(plan.effective.mean - plan.closed_form) > kVisible) {
    if (plan.spent.waiting > plan.length * kVisible / 4)
      differs.emplace_back("the formula knows no waiting for hosts");
    if (plan.spent.slow > plan.length * kVisible / 4)
      differs.emplace_back(
          "the formula knows no slow links; of several that are slow at once the narrowest counts alone");
    if (plan.job.planned.every > Hours(0)) differs.emplace_back("the formula knows no planned work");
    if (plan.spent.shrunk > Hours(0)) differs.emplace_back("the formula knows no smaller job");
    if (differs.empty())
      differs.emplace_back(
          "rates differ from history to history, and the formula has their mean; failures of groups come as "
          "one");
  }
  for (const SpareStep& each : plan.steps)
    if (each.spares && *each.spares > each.independent + each.independent / 10 + 2) {
      std::vector<std::string> reasons;
      if (plan.largest_group > 1)
        reasons.push_back(fmt::format("hosts fail in groups (up to {} at once)", plan.largest_group));
      if (plan.job.crews > 0) reasons.emplace_back("repairs wait for a crew");
      if (plan.job.planned.every > Hours(0)) reasons.emplace_back("planned work takes hosts too");
      if (reasons.empty()) reasons.emplace_back("rates differ from history to history");
      differs.push_back(fmt::format("{}: independent ones would need {} for {}, not {} spares",
                                    fmt::join(reasons, ", "), each.independent, each.asked, *each.spares));
      break;
    }
  return differs;
}

std::vector<SweepRow> compare_sweeps(Trials& trials, const Baseline& baseline,
                                     const std::optional<Hours>& sweep_every) {
  if (!has_silent(baseline.drawn.source.rates())) return {};
  const auto policies = sweeps_to_compare(baseline.job.sweeps, sweep_every);
  trials.begin("comparing sweeps", policies.size() * baseline.drawn.histories.size());
  std::vector<SweepRow> rows;
  for (const Sweeps& each : policies) {
    Job job = baseline.job;
    job.sweeps = each;
    const auto outcomes = trials.run(baseline.drawn, job);
    SweepRow row{.policy = sweeps_text(each), .effective = mean_of(shares_of(outcomes))};
    const double n = static_cast<double>(outcomes.size());
    for (const Outcome& outcome : outcomes) {
      row.cost += outcome.time.sweeps / outcome.length / n;
      row.undetected += outcome.undetected / n;
    }
    rows.push_back(row);
  }
  return rows;
}

std::vector<SilentRow> sweeps_if_silent(const HistorySource& source, const Job& job, Hours length) {
  if (has_silent(source.rates())) return {};
  double rate = 0, slowdown = 0;
  for (const files::ClassRates& each : source.rates().classes) {
    if (each.part != PartClass::nic && each.part != PartClass::host_cable &&
        each.part != PartClass::switch_cable)
      continue;
    const auto cause = static_cast<std::size_t>(each.part);
    const double failures = source.expected_of(cause, length) / length.count() *
                            share_of_failures(source, job, cause, PartsOf::job);
    rate += failures, slowdown += failures * lost_to(each, job);
  }
  if (!(slowdown > 0)) return {};
  std::vector<SilentRow> rows;
  for (const double share : {0.01, 0.1, 1.0})
    rows.push_back({share, sweep_interval(job.sweeps.cost, rate * share, slowdown / rate)});
  return rows;
}

std::vector<BlastRow> blast_radius(const Plant& plant, const Job& job) {
  constexpr std::array kTierNames{"leaf", "spine", "core"};
  std::vector<BlastRow> rows;
  for (std::size_t tier = 0; tier < std::size(plant.of_tier); ++tier) {
    std::map<std::pair<std::size_t, double>, std::size_t> alike;
    for (const Index each : plant.of_tier[tier]) {
      const BlastRow row = blast_of(plant, job, {}, {}, {each});
      ++alike[{row.hosts, row.slowdown}];
    }
    for (const auto& [figures, count] : alike)
      rows.push_back({.what = fmt::format("a {} ({} of them)", kTierNames[tier], count),
                      .hosts = figures.first,
                      .slowdown = figures.second});
  }
  for (const Domain& each : plant.domains)
    rows.push_back(
        blast_of(plant, job, fmt::format("domain {} ({})", each.name, each.kind), each.hosts, each.switches));
  std::ranges::stable_sort(rows, std::ranges::greater(), &BlastRow::hosts);
  return rows;
}

std::vector<ShelfRow> parts_on_shelf(const Plant& plant, const files::Rates& rates, Hours lead_time) {
  std::vector<ShelfRow> rows;
  const auto add = [&](const char* what, std::initializer_list<PartClass> classes, double each_has) {
    std::vector<CountSource> sources;
    for (const PartClass part : classes)
      if (const auto* own = rates.find(part); own != nullptr && plant.count(part) > 0)
        sources.push_back(failures_source(*own, static_cast<double>(plant.count(part)), lead_time));
    if (sources.empty()) return;
    double mean = 0;
    for (const CountSource& each : sources) mean += each.events * each.share;
    const auto parts = count_quantile(sources, kOnShelf);
    rows.push_back(
        {what, mean * each_has, static_cast<std::uint64_t>(static_cast<double>(parts) * each_has)});
  };
  add("GPUs", {PartClass::gpu}, 1);
  add("NICs", {PartClass::nic}, 1);
  add("optics", {PartClass::host_cable, PartClass::switch_cable}, 2);  // both ends of a cable
  add("switches", {PartClass::leaf, PartClass::spine, PartClass::core}, 1);
  return rows;
}

std::vector<OffenderRow> offenders_of(const Plant& plant, const files::Rates& rates) {
  std::vector<OffenderRow> rows;
  for (const files::ClassRates& each : rates.classes) {
    std::set<std::string> names;
    if (!each.known.empty())
      for (Index part = 0; part < plant.count(each.part); ++part)
        names.insert(plant.name_of(each.part, part));
    for (const files::KnownPart& one : each.known)
      if (one.offender >= kProbable && names.contains(one.name))
        rows.push_back({each.part, one.name, one.events, one.ratio, one.offender});
  }
  std::ranges::stable_sort(rows, std::ranges::greater(), &OffenderRow::offender);
  return rows;
}

std::vector<Gain> improvements(Trials& trials, const Baseline& baseline,
                               const std::vector<CauseForecast>& causes) {
  const auto of_cause = [&](std::size_t cause, int samples) {
    Job job = baseline.job;
    job.rate_factor[cause] *= kTenth;
    return gain_of(trials, baseline, fmt::format("failures: {}", cause_name(cause)), job, cause, samples);
  };
  std::vector<Gain> gains;
  const auto sort = [&] { std::ranges::stable_sort(gains, std::ranges::greater(), &Gain::gain); };
  constexpr std::size_t kLookedAtAgain = 6;
  constexpr int kSamples = 5;
  const auto times = shorter_times(baseline.job, baseline.drawn.source.rates());
  trials.begin("what to improve",
               (causes.size() + times.size() + kLookedAtAgain * kSamples) * baseline.drawn.histories.size());
  for (const CauseForecast& each : causes) gains.push_back(of_cause(each.cause, 1));
  for (const auto& [what, job] : times) gains.push_back(gain_of(trials, baseline, what, job));
  sort();
  // A tenth of the failures of a class is a small sample: of those that may be among the first, more of them.
  for (Gain& each : std::span(gains).first(std::min(gains.size(), kLookedAtAgain)))
    for (const CauseForecast& cause : causes)
      if (each.what == fmt::format("failures: {}", cause_name(cause.cause)))
        each = of_cause(cause.cause, kSamples);
  sort();
  return gains;
}

}  // namespace weft::reliability
