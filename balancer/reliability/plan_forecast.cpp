// How often a job will be interrupted: failures of the fabric times the share of them that hit the job, by
// formula, and by the simulation where it says otherwise.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "balancer/reliability/ageing.hpp"
#include "balancer/reliability/plan_parts.hpp"
#include "balancer/reliability/plant_state.hpp"

namespace weft::reliability {
namespace {

constexpr double kYear = 8766;     // hours
constexpr double kErrors = 3;      // standard errors, and
constexpr double kVisible = 0.01;  // of the share, from which on a simulation is believed against a formula

/// The count of another site, taken over.
bool is_as_published(const files::ClassRates& rates) {
  const auto published = files::published_rates();
  const files::ClassRates* same = published.find(rates.part);
  return same != nullptr && same->events == rates.events && same->parts == rates.parts &&
         same->time == rates.time;
}

/// A domain interrupts by those of its members whose loss interrupts the job.
void add_domains(InterruptionForecast& forecast, const HistorySource& source, const Job& job, Hours length) {
  const Plant& plant = source.plant();
  PlantState state(plant);
  state.reset(job);
  const auto has = [&](Index host) { return host < job.pool() && !job.is_spare(host); };
  const auto interrupts = [&](Index one) {
    const Switch& what = plant.switches[one];
    if (what.part == PartClass::leaf)
      return std::ranges::any_of(what.hosts,
                                 [&](Index host) { return has(host) && stops_at(plant, job, one, host); });
    return std::ranges::any_of(what.cables, [&](Index c) { return state.matters(plant.cables[c].bundle); });
  };
  std::vector<CountSource> failures;
  for (const Domain& each : plant.domains) {
    const CountSource all{files::events_counted(each.events), length / each.exposure};
    const auto members =
        std::ranges::count_if(each.hosts, has) + std::ranges::count_if(each.switches, interrupts);
    failures.push_back(all);
    if (members == 0) continue;
    forecast.domains.push_back({all.events, all.share * (1 - std::pow(1 - each.share, members))});
  }
  if (failures.empty()) return;
  CauseForecast& made = forecast.causes.emplace_back();
  made.cause = kDomainCause;
  made.unseen = std::ranges::all_of(plant.domains, [](const Domain& each) { return each.events <= 0; });
  made.failures = forecast_count(failures);
  made.interruptions = forecast_count(forecast.domains);
  for (const CountSource& each : failures) made.source.events += each.events;
  made.source.share = made.failures.mean / made.source.events;
  made.stopping = made.interruptions.mean / source.expected_of(kDomainCause, length);
}

}  // namespace

bool stops_at(const Plant& plant, const Job& job, Index leaf, Index host) {
  return job.lacks_after(static_cast<std::size_t>(PartClass::leaf), plant.nics_of[host],
                         plant.nics_at(leaf, host)) == 0;
}

double share_of_failures(const HistorySource& source, const Job& job, std::size_t cause, PartsOf of) {
  const Plant& plant = source.plant();
  PlantState state(plant);
  state.reset(job);
  const bool pool = of == PartsOf::stopping_pool, stopping = of != PartsOf::job;
  const auto has = [&](Index host) { return host < job.pool() && (pool || !job.is_spare(host)); };
  const auto sends_over = [&](Index cable) { return state.matters(plant.cables[cable].bundle); };
  double in = 0, all = 0;  // each part by its weight: an offender in the job counts for several
  const auto count = [&](std::size_t parts, auto counts) {
    for (Index part = 0; part < parts; ++part) {
      const double weight = source.weight(cause, part);
      all += weight, in += counts(part) ? weight : 0;
    }
  };
  if (cause == kDomainCause) return 1;
  switch (files::kPartClasses[cause]) {
    case PartClass::gpu:
    case PartClass::software:
      return static_cast<double>(pool ? job.pool() : job.hosts) / plant.hosts;
    case PartClass::host:
      count(plant.hosts, has);
      break;
    case PartClass::nic:
    case PartClass::host_cable:
      count(plant.nic_host.size(), [&](Index nic) {
        const Index host = plant.nic_host[nic];
        return has(host) && !(stopping && job.lacks_after(cause, plant.nics_of[host]) > 0);
      });
      break;
    case PartClass::switch_cable:
      count(plant.cables.size(), sends_over);
      break;
    case PartClass::leaf:
      count(plant.of_tier[0].size(), [&](Index number) {
        const Index leaf = plant.of_tier[0][number];
        return std::ranges::any_of(plant.switches[leaf].hosts, [&](Index host) {
          return has(host) && (!stopping || stops_at(plant, job, leaf, host));
        });
      });
      break;
    case PartClass::spine:
    case PartClass::core: {
      const auto& switches = plant.of_tier[files::kPartClasses[cause] == PartClass::spine ? 1 : 2];
      count(switches.size(), [&](Index each) {
        return std::ranges::any_of(plant.switches[switches[each]].cables, sends_over);
      });
      break;
    }
  }
  return all <= 0 ? 0 : in / all;
}

InterruptionForecast forecast_interruptions(const HistorySource& source, const Job& job, Hours length) {
  const files::Rates& rates = source.rates();
  InterruptionForecast made;
  std::vector<CountSource> all;
  for (const files::ClassRates& each : rates.classes) {
    const auto parts = source.plant().count(each.part);
    if (parts == 0) continue;
    const auto cause = static_cast<std::size_t>(each.part);
    const CountSource failures = failures_source(each, static_cast<double>(parts), length);
    const double share = share_of_failures(source, job, cause, PartsOf::stopping_job) * each.stops;
    const CountSource stopping{failures.events, failures.share * share};
    made.causes.push_back({.cause = cause,
                           .source = failures,
                           .failures = forecast_count({failures}),
                           .interruptions = forecast_count({stopping}),
                           .stopping = share,
                           .rate_at_most = rate_at_most(each.events, each.exposure()) * kYear,
                           .unseen = each.events <= 0,
                           .guessed = !each.guesses.empty(),
                           .borrowed = rates.is_own && (std::ranges::count(each.guesses, "events") > 0 ||
                                                        is_as_published(each)),
                           .edited = !rates.is_own && rates.origin == files::published_rates().origin &&
                                     !is_as_published(each)});
    all.push_back(stopping);
  }
  add_domains(made, source, job, length);
  all.insert(all.end(), made.domains.begin(), made.domains.end());
  made.all = forecast_count(all);
  made.mean_to_failure = length / std::max(made.all.mean, 1e-9);
  return made;
}

InterruptionForecast as_simulated(InterruptionForecast formula, const std::vector<History>& histories,
                                  const std::vector<Outcome>& outcomes, double waiting) {
  std::vector<CountSource> all;
  // Nothing interrupts a job that waits: of all causes together that is known better than of each.
  const double ready = waiting > kVisible ? 1 - waiting : 1;
  bool differs = ready < 1;
  for (CauseForecast& each : formula.causes) {
    each.stopping *= ready;
    std::vector<double> hits, rests;
    double expected = 0;
    for (std::size_t h = 0; h < outcomes.size(); ++h) {
      const auto failures =
          static_cast<double>(std::ranges::count(histories[h].failures, each.cause, &Failure::cause));
      hits.push_back(outcomes[h].interruptions[each.cause]);
      expected += failures * each.stopping;
      rests.push_back(hits.back() - failures * each.stopping);
    }
    const double came = std::accumulate(hits.begin(), hits.end(), 0.0);
    const double error = error_of(rests) * static_cast<double>(rests.size());
    const bool is_elsewhere = std::abs(came - expected) > kErrors * error + kVisible * expected;
    const double factor = expected > 0 && is_elsewhere ? came / expected : 1;
    differs = differs || factor != 1;
    std::vector<CountSource> sources{{each.source.events, each.source.share * each.stopping * factor}};
    if (each.cause == kDomainCause) {
      sources = formula.domains;
      for (CountSource& source : sources) source.share *= ready * factor;
    }
    each.interruptions = forecast_count(sources);
    all.insert(all.end(), sources.begin(), sources.end());
  }
  if (differs) formula.all = forecast_count(all);
  return formula;
}

Hours checkpoint_interval(const InterruptionForecast& forecast, const Job& job, Hours length) {
  double failures = 0, left = 0;
  for (const CauseForecast& each : forecast.causes)
    failures += each.interruptions.mean, left += each.interruptions.mean * job.rate_factor[each.cause];
  constexpr double kNever = 1e12;  // times as long
  const double longer = failures <= 0 ? 1 : left > 0 ? failures / left : kNever;
  const Hours daly = daly_interval(job.checkpoint_cost, forecast.mean_to_failure * longer);
  return std::clamp(daly, Hours(1.0 / 3600), length);
}

}  // namespace weft::reliability
