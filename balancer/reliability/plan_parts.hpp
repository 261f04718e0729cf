// What a plan is made of, as functions of its job, the plant and what was simulated: how often the job is
// interrupted (plan_forecast.cpp), how many spares it needs and where they stand (plan_spares.cpp), and what
// is said beside that (plan_advice.cpp). make_plan() puts it together.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "balancer/reliability/plan.hpp"
#include "balancer/reliability/trials.hpp"

namespace weft::reliability {

/// Whose failures are counted: parts of the job, or of its pool, and those that it depends on. stopping: of
/// those without which a host does not go on.
enum class PartsOf : std::uint8_t { job, stopping_job, stopping_pool };
/// The share of the failures of a class.
double share_of_failures(const HistorySource& source, const Job& job, std::size_t cause, PartsOf of);
/// A host that goes on without its NICs at that leaf is not stopped by it.
bool stops_at(const Plant& plant, const Job& job, Index leaf, Index host);

struct InterruptionForecast {
  std::vector<CauseForecast> causes;
  std::vector<CountSource> domains;  // that hit the job: what interrupts it
  CountForecast all;
  Hours mean_to_failure{};
};
/// By formula: failures of the fabric times the share of them that hit the job.
InterruptionForecast forecast_interruptions(const HistorySource& source, const Job& job, Hours length);
/// The formula has the job where it begins, and running all the time. Where it waits for hosts, has fewer, or
/// an offender gave its place to a spare, fewer failures interrupt it: then their share is that of the
/// simulation. `waiting`: share of the time.
InterruptionForecast as_simulated(InterruptionForecast formula, const std::vector<History>& histories,
                                  const std::vector<Outcome>& outcomes, double waiting);
/// Daly's, for failures as often as `job` has them. Of none that are left: as long as the plan.
Hours checkpoint_interval(const InterruptionForecast& forecast, const Job& job, Hours length);

struct SpareSearch {
  std::vector<SpareStep> steps;
  std::vector<double> short_of;  // Plan::short_of
};
/// `drawn`: the plan's own histories, taken where there are enough of them. `interruptions`: mean of a
/// history.
SpareSearch look_for_spares(Trials& trials, const Drawn& drawn, const PlanRequest& request, const Job& job,
                            double interruptions);
/// As few as the usual share of restarts needs, within what the fabric has.
Index usual_spares(const SpareSearch& found, Index room);
std::vector<PodRow> pods_of(const Plant& plant, const Job& job);
std::vector<WhereRow> where_hosts_stand(const Plant& plant, const Job& job,
                                        const std::vector<SpareStep>& steps);

struct ClosedForms {
  double effective = 0;
  Hours young{}, daly{};
  double hosts_out = 0;              // M/G/infinity
  std::optional<Hours> sweep_every;  // absent: nothing is silent
};
ClosedForms closed_forms(const HistorySource& source, const Job& job, Hours length, Hours mean_to_failure);
/// Why the simulation is elsewhere than the formulas, in words.
std::vector<std::string> differences(const Plan& plan);

/// None where the rates have nothing silent.
std::vector<SweepRow> compare_sweeps(Trials& trials, const Baseline& baseline,
                                     const std::optional<Hours>& sweep_every);
/// What is silent is counted by nobody who does not look for it, so that rates without it are no proof. None
/// where the rates have something silent.
std::vector<SilentRow> sweeps_if_silent(const HistorySource& source, const Job& job, Hours length);
/// What each switch and each domain takes away, the most hosts first.
std::vector<BlastRow> blast_radius(const Plant& plant, const Job& job);
/// What fails within the lead time, by what stands on a shelf.
std::vector<ShelfRow> parts_on_shelf(const Plant& plant, const files::Rates& rates, Hours lead_time);
/// Of this fabric: a name that it does not have changes nothing.
std::vector<OffenderRow> offenders_of(const Plant& plant, const files::Rates& rates);
/// A tenth less of each cause and each time, the best first.
std::vector<Gain> improvements(Trials& trials, const Baseline& baseline,
                               const std::vector<CauseForecast>& causes);

}  // namespace weft::reliability
