// How often a job will be interrupted: failures of the fabric times the share of them that hit the job, by
// formula, and by the simulation where it says otherwise.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "balancer/reliability/ageing.hpp"
#include "balancer/reliability/planner.hpp"

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

}  // namespace

/// A host that goes on without its NICs at that leaf is not stopped by it.
bool Planner::stops_at(Index leaf, Index host) const {
  return plan_.job.lacks_after(static_cast<std::size_t>(PartClass::leaf), plant_.nics_of[host],
                               plant_.nics_at(leaf, host)) == 0;
}

double Planner::share_of_job(std::size_t cause, Of of) const {
  const Job& job = plan_.job;
  PlantState state(plant_);
  state.reset(job);
  const bool pool = of == Of::stopping_pool, stopping = of != Of::job;
  const auto has = [&](Index host) { return host < job.pool() && (pool || !job.is_spare(host)); };
  const auto sends_over = [&](Index cable) { return state.matters(plant_.cables[cable].bundle); };
  double in = 0, all = 0;  // each part by its weight: an offender in the job counts for several
  const auto count = [&](std::size_t parts, auto counts) {
    for (Index part = 0; part < parts; ++part) {
      const double weight = source_.weight(cause, part);
      all += weight, in += counts(part) ? weight : 0;
    }
  };
  if (cause == kDomainCause) return 1;
  switch (files::kPartClasses[cause]) {
    case PartClass::gpu:
    case PartClass::software:
      return static_cast<double>(pool ? job.pool() : job.hosts) / plant_.hosts;
    case PartClass::host:
      count(plant_.hosts, has);
      break;
    case PartClass::nic:
    case PartClass::host_cable:
      count(plant_.nic_host.size(), [&](Index nic) {
        const Index host = plant_.nic_host[nic];
        return has(host) && !(stopping && job.lacks_after(cause, plant_.nics_of[host]) > 0);
      });
      break;
    case PartClass::switch_cable:
      count(plant_.cables.size(), sends_over);
      break;
    case PartClass::leaf:
      count(plant_.of_tier[0].size(), [&](Index number) {
        const Index leaf = plant_.of_tier[0][number];
        return std::ranges::any_of(plant_.switches[leaf].hosts, [&](Index host) {
          return has(host) && (!stopping || stops_at(leaf, host));
        });
      });
      break;
    case PartClass::spine:
    case PartClass::core: {
      const auto& switches = plant_.of_tier[files::kPartClasses[cause] == PartClass::spine ? 1 : 2];
      count(switches.size(), [&](Index each) {
        return std::ranges::any_of(plant_.switches[switches[each]].cables, sends_over);
      });
      break;
    }
  }
  return all <= 0 ? 0 : in / all;
}

void Planner::forecast() {
  plan_.causes.clear();
  std::vector<CountSource> all;
  for (const files::ClassRates& each : rates_.classes) {
    const auto parts = plant_.count(each.part);
    if (parts == 0) continue;
    const auto cause = static_cast<std::size_t>(each.part);
    const CountSource source = failures_source(each, static_cast<double>(parts), request_.length);
    const double share = share_of_job(cause, Of::stopping_job) * each.stops;
    const CountSource stopping{source.events, source.share * share};
    plan_.causes.push_back({.cause = cause,
                            .source = source,
                            .failures = forecast_count({source}),
                            .interruptions = forecast_count({stopping}),
                            .stopping = share,
                            .rate_at_most = rate_at_most(each.events, each.exposure()) * kYear,
                            .unseen = each.events <= 0,
                            .guessed = !each.guesses.empty(),
                            .borrowed = rates_.is_own && (std::ranges::count(each.guesses, "events") > 0 ||
                                                          is_as_published(each)),
                            .edited = !rates_.is_own && rates_.origin == files::published_rates().origin &&
                                      !is_as_published(each)});
    all.push_back(stopping);
  }
  forecast_domains();
  all.insert(all.end(), domains_.begin(), domains_.end());
  plan_.interruptions = forecast_count(all);
  plan_.mean_to_failure = request_.length / std::max(plan_.interruptions.mean, 1e-9);
}

/// A domain interrupts by those of its members whose loss interrupts the job.
void Planner::forecast_domains() {
  const Job& job = plan_.job;
  PlantState state(plant_);
  state.reset(job);
  const auto has = [&](Index host) { return host < job.pool() && !job.is_spare(host); };
  const auto interrupts = [&](Index one) {
    const Switch& what = plant_.switches[one];
    if (what.part == PartClass::leaf)
      return std::ranges::any_of(what.hosts, [&](Index host) { return has(host) && stops_at(one, host); });
    return std::ranges::any_of(what.cables, [&](Index c) { return state.matters(plant_.cables[c].bundle); });
  };
  domains_.clear();
  std::vector<CountSource> failures;
  for (const Domain& each : plant_.domains) {
    const CountSource all{files::events_counted(each.events), request_.length / each.exposure};
    const auto members =
        std::ranges::count_if(each.hosts, has) + std::ranges::count_if(each.switches, interrupts);
    failures.push_back(all);
    if (members == 0) continue;
    domains_.push_back({all.events, all.share * (1 - std::pow(1 - each.share, members))});
  }
  if (failures.empty()) return;
  CauseForecast& made = plan_.causes.emplace_back();
  made.cause = kDomainCause;
  made.unseen = std::ranges::all_of(plant_.domains, [](const Domain& each) { return each.events <= 0; });
  made.failures = forecast_count(failures);
  made.interruptions = forecast_count(domains_);
  for (const CountSource& each : failures) made.source.events += each.events;
  made.source.share = made.failures.mean / made.source.events;
  made.stopping = made.interruptions.mean / source_.expected_of(kDomainCause, request_.length);
}

/// The formula has the job where it begins, and running all the time. Where it waits for hosts, has fewer, or
/// an offender gave its place to a spare, fewer failures interrupt it: then their share is that of the
/// simulation.
void Planner::note_interruptions(const std::vector<Outcome>& outcomes) {
  std::vector<CountSource> all;
  // Nothing interrupts a job that waits: of all causes together that is known better than of each.
  const double waiting = plan_.spent.waiting / plan_.length, ready = waiting > kVisible ? 1 - waiting : 1;
  bool differs = ready < 1;
  for (CauseForecast& each : plan_.causes) {
    each.stopping *= ready;
    std::vector<double> hits, rests;
    double formula = 0;
    for (std::size_t h = 0; h < outcomes.size(); ++h) {
      const auto failures =
          static_cast<double>(std::ranges::count(histories_[h].failures, each.cause, &Failure::cause));
      hits.push_back(outcomes[h].interruptions[each.cause]);
      formula += failures * each.stopping;
      rests.push_back(hits.back() - failures * each.stopping);
    }
    const double came = std::accumulate(hits.begin(), hits.end(), 0.0);
    const double error = error_of(rests) * static_cast<double>(rests.size());
    const double factor =
        formula > 0 && std::abs(came - formula) > kErrors * error + kVisible * formula ? came / formula : 1;
    differs = differs || factor != 1;
    std::vector<CountSource> sources{{each.source.events, each.source.share * each.stopping * factor}};
    if (each.cause == kDomainCause) {
      sources = domains_;
      for (CountSource& source : sources) source.share *= ready * factor;
    }
    each.interruptions = forecast_count(sources);
    all.insert(all.end(), sources.begin(), sources.end());
  }
  if (differs) plan_.interruptions = forecast_count(all);
}

}  // namespace weft::reliability
