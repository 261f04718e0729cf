#include "balancer/reliability/plan.hpp"

#include "balancer/blacklist/capacity.hpp"
#include "balancer/reliability/plan_parts.hpp"
#include "balancer/reliability/trials.hpp"

namespace weft::reliability {
namespace {

constexpr double kMinProgress = 1e-3;        // of the time: no job is run so
constexpr double kMaxFailures = 20'000'000;  // of all histories: about 1 GB
constexpr double kMaxSweeps = 5'000'000;     // in all histories: half a minute with all that is tried
constexpr double kMaxAged = 100'000'000;     // parts in all histories: about a minute

/// Of `job`, which is `planned` or a change of it.
Result<void> check_times(const PlanRequest& request, const Job& planned, const Job& job) {
  const bool is_given = !request.best_interval || job.checkpoint_every != planned.checkpoint_every;
  if (is_given && job.checkpoint_every > request.length)  // what was done since the last failure would count
    return fail(ErrorKind::usage,
                "the job makes no progress that is kept: checkpoints are {} apart, more than the {} that are "
                "planned",
                time_text(job.checkpoint_every), time_text(request.length));
  WEFT_TRY_VOID(check_sweep_cost(job.sweeps));
  const double all = request.length.count() * static_cast<double>(request.histories);
  const double windows =
      job.planned.every > Hours(0) ? all / job.planned.every.count() * job.planned.hosts : 0;
  if (windows > kMaxFailures)
    return fail(
        ErrorKind::usage,
        "planned work takes {:.3g} hosts out in all histories, more than the {:.3g} that are simulated: "
        "a longer time between windows, fewer --days or fewer --histories",
        windows, kMaxFailures);
  if (job.sweeps.policy != SweepPolicy::every) return {};
  const double sweeps = all / job.sweeps.every.count();
  if (sweeps <= kMaxSweeps) return {};
  return fail(
      ErrorKind::usage,
      "{:.3g} sweeps in all histories, more than the {:.3g} that are simulated: a longer time between "
      "them, fewer --days or fewer --histories",
      sweeps, kMaxSweeps);
}

/// A change of `planned`. Error (usage): it cannot be.
Result<WhatIf> what_if_of(const Plant& plant, const PlanRequest& request, const Job& planned,
                          const std::string& text) {
  WEFT_TRY(auto changed, parse_what_if(text, planned));
  if (changed.job.spares > plant.hosts - planned.hosts)
    return fail(ErrorKind::usage, "'{}': {} has {} beside the job", text, plant.name,
                counted(plant.hosts - planned.hosts, "host"));
  WEFT_TRY_VOID(check_times(request, planned, changed.job));
  return changed;
}

/// That what is asked for can be drawn and simulated.
Result<void> check_work(const HistorySource& source, const PlanRequest& request) {
  if (request.histories < 40 || request.histories > kMaxHistories)
    return fail(ErrorKind::usage, "{} histories: expected 40 to {}", request.histories, kMaxHistories);
  const double failures = source.expected_failures(request.length) * static_cast<double>(request.histories);
  if (!(failures < kMaxFailures))
    return fail(
        ErrorKind::invalid_input,
        "these rates make {:.3g} failures in {} histories of {:.4g} days, more than the {:.3g} that are "
        "simulated: fewer --histories, fewer --days, or look at the rates",
        failures, request.histories, request.length.count() / 24, kMaxFailures);
  if (static_cast<double>(source.ageing_parts()) * static_cast<double>(request.histories) > kMaxAged)
    return fail(ErrorKind::invalid_input,
                "{} parts that age in {} histories, more than the {:.3g} that are drawn one by one: fewer "
                "--histories",
                source.ageing_parts(), request.histories, kMaxAged);
  return {};
}

/// Before anything is drawn.
Result<void> check(const HistorySource& source, const PlanRequest& request, const Job& planned) {
  const Plant& plant = source.plant();
  const Job& job = request.job;
  const Index spares = request.spares.value_or(0);
  if (job.hosts == 0) return fail(ErrorKind::usage, "a job of no hosts: expected one at least");
  if (job.hosts > plant.hosts || spares > plant.hosts - job.hosts)
    return fail(ErrorKind::usage,
                "a job of {} with {} does not fit into {}, which has {}: a smaller --job, or --scale GPUS "
                "for a larger "
                "fabric of its form",
                counted(job.hosts, "host"), counted(spares, "spare"), plant.name,
                counted(plant.hosts, "host"));
  if (job.checkpoint_every <= Hours(0))
    return fail(ErrorKind::usage, "checkpoints: expected a time above 0 between them");
  if (job.group == 0 || job.group > job.hosts)
    return fail(ErrorKind::usage, "a group of {} hosts: expected 1 to {}, the hosts of the job", job.group,
                job.hosts);
  WEFT_TRY_VOID(check_work(source, request));
  for (const std::string& each : request.what_ifs)
    if (const auto made = what_if_of(plant, request, planned, each); !made) return pass_on(made);
  return check_times(request, planned, job);
}

Result<void> check_progress(const Job& job, Hours mean_to_failure) {
  const bool makes_none =
      job.checkpoint_cost >= mean_to_failure ||
      efficiency(job.checkpoint_every, job.checkpoint_cost, job.down(), mean_to_failure) < kMinProgress;
  if (!makes_none) return {};
  return fail(
      ErrorKind::invalid_input,
      "the job makes no progress: it is interrupted every {:.3g} min, and needs {:.3g} min to restart "
      "and {:.3g} min to its next checkpoint",
      mean_to_failure.count() * 60, job.down().count() * 60,
      (job.checkpoint_every + job.checkpoint_cost).count() * 60);
}

/// A plan with what is known of it before anything is drawn.
Plan begun(const HistorySource& source, const PlanRequest& request) {
  const Plant& plant = source.plant();
  const files::Rates& rates = source.rates();
  Plan plan;
  plan.fabric = plant.name;
  plan.gpus = std::uint64_t{request.job.hosts} * plant.gpus_per_host;
  plan.plant_hosts = plant.hosts;
  plan.job = request.job;
  plan.length = request.length;
  plan.histories = request.histories;
  plan.seed = request.seed;
  plan.origin = rates.origin;
  plan.is_own = rates.is_own;
  plan.guesses = request.guesses;
  plan.unknown_parts = source.unknown_parts();
  plan.lead_time = request.lead_time;
  for (const PartClass part : files::kPartClasses)
    plan.parts[static_cast<std::size_t>(part)] = plant.count(part);
  for (const files::ClassRates& each : rates.classes)
    for (const std::string& guess : plant.count(each.part) > 0 ? each.guesses : std::vector<std::string>())
      plan.guesses.push_back(fmt::format("{} of {}", guess, plural(each.part)));
  for (const PartClass part : files::kPartClasses)
    if (rates.find(part) == nullptr && plant.count(part) > 0)
      plan.guesses.push_back(fmt::format("no failure of {}, which the rates do not have", plural(part)));
  const std::size_t cables = plant.cables.size();
  plan.drains_allowed = blacklist::hosts_allowed({}, plant.hosts);
  plan.cable_drains_allowed =
      cables == 0 ? 0 : blacklist::allowed_of(blacklist::Caps().fabric_links, 1, cables);
  plan.job.most_drained = static_cast<Index>(plan.drains_allowed);
  plan.job.caps = true;
  return plan;
}

Estimated effective_share(const Drawn& drawn, const std::vector<double>& shares) {
  std::vector<double> failures;
  for (const History& each : drawn.histories) failures.push_back(static_cast<double>(each.failures.size()));
  // Of parts that age the mean is known for counted rates alone, not for those that are open.
  const double expected =
      drawn.source.ageing_parts() > 0 ? mean_of(failures) : drawn.source.expected_failures(drawn.length);
  return estimated(shares, failures, expected);
}

/// Where the time goes, and how many restarts had all hosts.
void note_outcomes(Plan& plan, const std::vector<Outcome>& outcomes) {
  std::uint64_t full = 0;
  const double n = static_cast<double>(outcomes.size());
  for (const Outcome& each : outcomes) {
    plan.restarts += each.restarts, full += each.full;
    for (const auto kind :
         {&TimeSpent::effective, &TimeSpent::checkpoints, &TimeSpent::repeated, &TimeSpent::detection,
          &TimeSpent::restart, &TimeSpent::waiting, &TimeSpent::slow, &TimeSpent::sweeps, &TimeSpent::shrunk})
      plan.spent.*kind += each.time.*kind / n;
  }
  plan.kept = plan.restarts == 0 ? 1 : static_cast<double>(full) / static_cast<double>(plan.restarts);
}

/// What needs the outcomes of no other job.
void note_formulas(Plan& plan, const HistorySource& source) {
  const ClosedForms forms = closed_forms(source, plan.job, plan.length, plan.mean_to_failure);
  plan.closed_form = forms.effective;
  plan.young = forms.young, plan.daly = forms.daly;
  plan.hosts_out = forms.hosts_out;
  plan.sweep_every = forms.sweep_every;
  for (SpareStep& each : plan.steps)
    each.independent = static_cast<Index>(poisson_quantile(each.asked, plan.hosts_out));
  plan.blast = blast_radius(source.plant(), plan.job);
  plan.largest_group = plan.blast.empty() ? 0 : plan.blast.front().hosts;
  plan.differs = differences(plan);
  plan.if_silent = sweeps_if_silent(source, plan.job, plan.length);
  plan.shelf = parts_on_shelf(source.plant(), source.rates(), plan.lead_time);
  plan.pods = pods_of(source.plant(), plan.job);
  plan.where = where_hosts_stand(source.plant(), plan.job, plan.steps);
  plan.offenders = offenders_of(source.plant(), source.rates());
}

Result<std::vector<Gain>> what_ifs(Trials& trials, const Baseline& baseline, const PlanRequest& request,
                                   const InterruptionForecast& forecast) {
  const Drawn& drawn = baseline.drawn;
  trials.begin("what if", request.what_ifs.size() * drawn.histories.size());
  std::vector<Gain> gains;
  for (const std::string& each : request.what_ifs) {
    WEFT_TRY(auto changed, what_if_of(drawn.source.plant(), request, baseline.job, each));
    // Checkpoints follow what they cost and how often failures come, unless somebody said how far apart they
    // are.
    if (request.best_interval && changed.job.checkpoint_every == baseline.job.checkpoint_every)
      changed.job.checkpoint_every = checkpoint_interval(forecast, changed.job, request.length);
    gains.push_back(gain_of(trials, baseline, each, changed.job));
  }
  return gains;
}

}  // namespace

std::string counted(std::uint64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

Result<Plan> make_plan(const Plant& plant, const files::Rates& rates, const PlanRequest& request,
                       const PlanProgress& tell) {
  const HistorySource source(plant, rates);
  Plan plan = begun(source, request);
  WEFT_TRY_VOID(check(source, request, plan.job));
  Job& job = plan.job;
  const auto forecast_job = [&] {
    auto forecast = forecast_interruptions(source, job, request.length);
    if (request.best_interval) job.checkpoint_every = checkpoint_interval(forecast, job, request.length);
    return forecast;
  };
  job.spares = request.spares.value_or(0);
  auto forecast = forecast_job();
  WEFT_TRY_VOID(check_progress(job, forecast.mean_to_failure));

  Trials trials(request, tell);
  trials.begin("drawing failures", request.histories);
  const Drawn drawn = trials.draw(source, request.histories);
  auto spares = look_for_spares(trials, drawn, request, job, forecast.all.mean);
  job.spares = request.spares ? *request.spares : usual_spares(spares, plant.hosts - job.hosts);
  plan.steps = std::move(spares.steps);
  plan.short_of = std::move(spares.short_of);
  forecast = forecast_job();  // with spares among its hosts the job stands at more leaves
  plan.mean_to_failure = forecast.mean_to_failure;

  trials.begin("running the job", request.histories);
  const auto outcomes = trials.run(drawn, job);
  const Baseline baseline{drawn, job, shares_of(outcomes)};
  plan.effective = effective_share(drawn, baseline.shares);
  note_outcomes(plan, outcomes);
  forecast = as_simulated(std::move(forecast), drawn.histories, outcomes, plan.spent.waiting / plan.length);
  plan.causes = forecast.causes;
  plan.interruptions = forecast.all;
  note_formulas(plan, source);
  plan.sweeps = compare_sweeps(trials, baseline, plan.sweep_every);
  plan.improvements = improvements(trials, baseline, plan.causes);
  WEFT_TRY(plan.what_ifs, what_ifs(trials, baseline, request, forecast));
  return plan;
}

}  // namespace weft::reliability
