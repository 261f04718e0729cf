#include "balancer/reliability/plan.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "balancer/reliability/ageing.hpp"
#include "balancer/reliability/planner.hpp"

namespace weft::reliability {
namespace {

constexpr std::array kAsked{0.99, 0.999, 0.9999};
constexpr double kUsual = 0.999;
constexpr double kOneSided = 1.644854;  // 95 % of a normal distribution
constexpr double kMinShort = 3;         // restarts without all hosts that there should be, to tell of them
constexpr double kMinProgress = 1e-3;   // of the time: no job is run so
constexpr double kMaxFailures = 20'000'000;  // of all histories: about 1 GB
constexpr double kMaxSweeps = 5'000'000;     // in all histories: half a minute with all that is tried
constexpr double kMaxAged = 100'000'000;     // parts in all histories: about a minute
constexpr std::size_t kMaxHistories = 100'000;
// More histories where those asked for have too few restarts to tell of rare ones: about a second's work.
constexpr double kShortExpected = 4;
constexpr double kMaxMoreFailures = 1'000'000;
constexpr double kMaxMoreParts = 30'000'000;  // in all of these histories

/// The mean, `least` to 1, with what is known of the mean number of failures taken into account: a control
/// variate.
Estimated estimated(const std::vector<double>& values, const std::vector<double>& control, double known,
                    double least = 0) {
  Estimated made{.mean = mean_of(values), .error = error_of(values)};
  std::vector<double> sorted = values;
  std::ranges::sort(sorted);
  const auto at = [&](double share) {
    return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size()))];
  };
  made.low = at(0.025), made.high = at(0.975);
  const double mean = mean_of(control);
  double covariance = 0, variance = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    covariance += (values[i] - made.mean) * (control[i] - mean);
    variance += (control[i] - mean) * (control[i] - mean);
  }
  if (variance <= 0) return made;
  std::vector<double> rest(values);
  for (std::size_t i = 0; i < values.size(); ++i) rest[i] -= covariance / variance * (control[i] - known);
  made.mean = std::clamp(mean_of(rest), least, 1.0);
  made.error = error_of(rest);
  return made;
}

/// The least number with which so many restarts had all hosts, by how many were out at each: with 95 %
/// confidence, where whole histories are what was drawn. Absent: so few restarts tell nothing of so rare a
/// thing.
std::optional<Index> spares_for(double asked, const std::vector<Outcome>& outcomes) {
  std::size_t most = 0;
  double all = 0;
  for (const Outcome& each : outcomes) {
    most = std::max(most, each.missing.size());
    all += each.restarts;
  }
  if (all * (1 - asked) < kMinShort) return std::nullopt;
  std::vector<double> without(outcomes.size());  // restarts of each history that lacked a host
  for (std::size_t h = 0; h < outcomes.size(); ++h) without[h] = outcomes[h].restarts;
  for (std::size_t spares = 0; spares < most; ++spares) {
    double sum = 0, square = 0;
    for (std::size_t h = 0; h < outcomes.size(); ++h) {
      if (spares < outcomes[h].missing.size()) without[h] -= outcomes[h].missing[spares];
      sum += without[h];
    }
    const double share = sum / all;
    for (std::size_t h = 0; h < outcomes.size(); ++h)
      square += std::pow(without[h] - share * outcomes[h].restarts, 2);
    if (share + kOneSided * std::sqrt(square) / all <= 1 - asked) return static_cast<Index>(spares);
  }
  return std::nullopt;
}

/// By number of spares: the share of restarts that lacked a host, until none did.
std::vector<double> short_of(const std::vector<Outcome>& outcomes) {
  double all = 0;
  std::vector<double> lacking;  // by hosts that were out
  for (const Outcome& each : outcomes) {
    all += each.restarts;
    if (lacking.size() < each.missing.size()) lacking.resize(each.missing.size(), 0);
    for (std::size_t out = 0; out < each.missing.size(); ++out) lacking[out] += each.missing[out];
  }
  if (all <= 0) return {};
  double left = all;
  for (double& each : lacking) left -= each, each = std::max(left, 0.0) / all;
  return lacking;
}

}  // namespace

std::string counted(std::uint64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double error_of(const std::vector<double>& values) {
  const double mean = mean_of(values), n = static_cast<double>(values.size());
  double sum = 0;
  for (const double each : values) sum += (each - mean) * (each - mean);
  return n > 1 ? std::sqrt(sum / (n - 1) / n) : 0;
}

std::vector<double> shares_of(const std::vector<Outcome>& outcomes) {
  std::vector<double> shares;
  for (const Outcome& each : outcomes) shares.push_back(each.effective_share());
  return shares;
}

Result<void> Planner::check() const {
  const Job& job = request_.job;
  const Index spares = request_.spares.value_or(0);
  if (job.hosts == 0) return fail(ErrorKind::usage, "a job of no hosts: expected one at least");
  if (job.hosts > plant_.hosts || spares > plant_.hosts - job.hosts)
    return fail(ErrorKind::usage,
                "a job of {} with {} does not fit into {}, which has {}: a smaller --job, or --scale GPUS "
                "for a larger "
                "fabric of its form",
                counted(job.hosts, "host"), counted(spares, "spare"), plant_.name,
                counted(plant_.hosts, "host"));
  if (job.checkpoint_every <= Hours(0))
    return fail(ErrorKind::usage, "checkpoints: expected a time above 0 between them");
  if (job.group == 0 || job.group > job.hosts)
    return fail(ErrorKind::usage, "a group of {} hosts: expected 1 to {}, the hosts of the job", job.group,
                job.hosts);
  if (request_.histories < 40 || request_.histories > kMaxHistories)
    return fail(ErrorKind::usage, "{} histories: expected 40 to {}", request_.histories, kMaxHistories);
  const double failures =
      source_.expected_failures(request_.length) * static_cast<double>(request_.histories);
  if (!(failures < kMaxFailures))
    return fail(
        ErrorKind::invalid_input,
        "these rates make {:.3g} failures in {} histories of {:.4g} days, more than the {:.3g} that are "
        "simulated: fewer --histories, fewer --days, or look at the rates",
        failures, request_.histories, request_.length.count() / 24, kMaxFailures);
  if (static_cast<double>(source_.ageing_parts()) * static_cast<double>(request_.histories) > kMaxAged)
    return fail(ErrorKind::invalid_input,
                "{} parts that age in {} histories, more than the {:.3g} that are drawn one by one: fewer "
                "--histories",
                source_.ageing_parts(), request_.histories, kMaxAged);
  for (const std::string& each : request_.what_ifs)  // before anything is drawn
    if (const auto made = what_if_of(each); !made) return pass_on(made);
  return check_times(job);
}

Result<void> Planner::check_times(const Job& job) const {
  const bool is_given = !request_.best_interval || job.checkpoint_every != plan_.job.checkpoint_every;
  if (is_given && job.checkpoint_every > request_.length)  // what was done since the last failure would count
    return fail(ErrorKind::usage,
                "the job makes no progress that is kept: checkpoints are {} apart, more than the {} that are "
                "planned",
                time_text(job.checkpoint_every), time_text(request_.length));
  WEFT_TRY_VOID(check_sweep_cost(job.sweeps));
  const double all = request_.length.count() * static_cast<double>(request_.histories);
  const double planned =
      job.planned.every > Hours(0) ? all / job.planned.every.count() * job.planned.hosts : 0;
  if (planned > kMaxFailures)
    return fail(
        ErrorKind::usage,
        "planned work takes {:.3g} hosts out in all histories, more than the {:.3g} that are simulated: "
        "a longer time between windows, fewer --days or fewer --histories",
        planned, kMaxFailures);
  if (job.sweeps.policy != SweepPolicy::every) return {};
  const double sweeps = all / job.sweeps.every.count();
  if (sweeps <= kMaxSweeps) return {};
  return fail(
      ErrorKind::usage,
      "{:.3g} sweeps in all histories, more than the {:.3g} that are simulated: a longer time between "
      "them, fewer --days or fewer --histories",
      sweeps, kMaxSweeps);
}

void Planner::begin(std::string_view doing, std::size_t histories) {
  doing_ = doing, done_ = 0, total_ = histories;
}

void Planner::report_one() {
  if (tell_) tell_(doing_, std::min(++done_, total_), total_);
}

std::vector<History> Planner::drawn(const HistorySource& source, std::size_t count) {
  const HistoryOptions options{.seed = request_.seed, .length = request_.length};
  std::vector<History> histories;
  histories.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    histories.push_back(source.draw(i, options));
    report_one();
  }
  return histories;
}

std::vector<Outcome> Planner::run_all(const HistorySource& source, const std::vector<History>& histories,
                                      const Job& job) {
  Simulator simulator(source, job);
  std::vector<Outcome> outcomes;
  outcomes.reserve(histories.size());
  for (const History& each : histories) {
    outcomes.push_back(simulator.run(each));
    report_one();
  }
  return outcomes;
}

/// Daly's, for failures as often as `job` has them. Of none that are left: as long as the plan.
Hours Planner::interval_of(const Job& job) const {
  double failures = 0, left = 0;
  for (const CauseForecast& each : plan_.causes)
    failures += each.interruptions.mean, left += each.interruptions.mean * job.rate_factor[each.cause];
  constexpr double kNever = 1e12;  // times as long
  const double longer = failures <= 0 ? 1 : left > 0 ? failures / left : kNever;
  const Hours daly = daly_interval(job.checkpoint_cost, plan_.mean_to_failure * longer);
  return std::clamp(daly, Hours(1.0 / 3600), request_.length);
}

void Planner::choose_interval() {
  if (request_.best_interval) plan_.job.checkpoint_every = interval_of(plan_.job);
}

/// A larger pool has more hosts out: the second look is at a pool of the size that the first one found. Where
/// the fabric has no room for that many, a larger one of its form is looked at.
void Planner::choose_spares() {
  const Index room = plant_.hosts - plan_.job.hosts, wanted = std::max<Index>(plan_.job.hosts / 32, 16);
  if (room >= wanted) {
    look_for_spares(source_, wanted);
  } else {
    const auto gpus = (std::uint64_t{plan_.job.hosts} + wanted) * plant_.gpus_per_host;
    const auto large = enlarged(plant_, gpus);
    if (large) {
      const HistorySource source(*large, rates_);
      look_for_spares(source, wanted);
    }
  }
  if (request_.spares)
    plan_.job.spares = *request_.spares;
  else  // where too few restarts tell of it, as many as the one needed that lacked most
    for (const SpareStep& each : plan_.steps)
      if (each.asked == kUsual)
        plan_.job.spares = std::min(
            room,
            each.spares.value_or(static_cast<Index>(std::max<std::size_t>(plan_.short_of.size(), 1) - 1)));
}

/// So many that .9999 can be told, or what is cheap.
std::size_t Planner::histories_for_spares(const HistorySource& source) const {
  const Plant& plant = source.plant();
  const double restarts = std::max(plan_.interruptions.mean, 1e-9);
  const double failures = std::max(source.expected_failures(request_.length), 1e-9);
  constexpr double kAgeing = 20;  // what drawing a part that ages takes, over one that does not
  const double parts = static_cast<double>(plant.hosts + plant.switches.size() + plant.cables.size()) +
                       kAgeing * static_cast<double>(source.ageing_parts());
  const double wanted = kShortExpected / (1 - kAsked.back()) / restarts;
  const double most = std::min({wanted, kMaxMoreFailures / failures, kMaxMoreParts / parts});
  return std::max(request_.histories, static_cast<std::size_t>(std::min(most, double{kMaxHistories})));
}

void Planner::look_for_spares(const HistorySource& source, Index wanted) {
  const std::size_t count = histories_for_spares(source);
  begin("looking for spares", 8 * count);
  const bool has_them = &source == &source_ && count == histories_.size();
  const auto more = has_them ? std::vector<History>() : drawn(source, count);
  const auto& histories = has_them ? histories_ : more;
  Job job = plan_.job;
  job.spares = wanted;
  const auto first = run_all(source, histories, job);
  plan_.short_of = short_of(first);
  for (const double asked : kAsked) {
    SpareStep step{.asked = asked, .spares = spares_for(asked, first), .independent = 0};
    // Below one leaf a pool is out with all its spares, however many: it must reach beyond.
    const Index most = source.plant().hosts - job.hosts;
    for (Index tried = step.spares.value_or(0); step.spares; tried = std::max(*step.spares, tried * 2)) {
      job.spares = std::min(tried, most);
      step.spares = spares_for(asked, run_all(source, histories, job));
      const Index found = step.spares.value_or(0);
      if (job.spares == most || (found <= tried + tried / 8 + 1 && found < job.pool())) break;
    }
    plan_.steps.push_back(step);
  }
}

void Planner::note_outcomes(const std::vector<Outcome>& outcomes) {
  shares_ = shares_of(outcomes);
  std::vector<double> failures;
  for (const History& each : histories_) failures.push_back(static_cast<double>(each.failures.size()));
  // Of parts that age the mean is known for counted rates alone, not for those that are open.
  const double expected =
      source_.ageing_parts() > 0 ? mean_of(failures) : source_.expected_failures(request_.length);
  plan_.effective = estimated(shares_, failures, expected);
  std::uint64_t full = 0;
  const double n = static_cast<double>(outcomes.size());
  for (const Outcome& each : outcomes) {
    plan_.restarts += each.restarts, full += each.full;
    const auto add = [&](Hours TimeSpent::*kind) { plan_.spent.*kind += each.time.*kind / n; };
    for (const auto kind :
         {&TimeSpent::effective, &TimeSpent::checkpoints, &TimeSpent::repeated, &TimeSpent::detection,
          &TimeSpent::restart, &TimeSpent::waiting, &TimeSpent::slow, &TimeSpent::sweeps, &TimeSpent::shrunk})
      add(kind);
  }
  plan_.kept = plan_.restarts == 0 ? 1 : static_cast<double>(full) / static_cast<double>(plan_.restarts);
}

/// `cause`: what `job` lets fail less often. Then the failures that it passes over tell most of the gain of
/// each history, otherwise all failures do; of both the mean is known, unless parts age. `samples` of such
/// failures, each of others: their mean is nearer to the truth.
Gain Planner::gain_of(std::string what, Job job, std::optional<std::size_t> cause, int samples) {
  std::vector<double> differences(histories_.size(), 0), control(histories_.size(), 0), changed;
  for (int sample = 0; sample < samples; ++sample) {
    if (cause) job.thin_shift = sample * (1 - job.rate_factor[*cause]);
    changed = shares_of(run_all(source_, histories_, job));
    for (std::size_t i = 0; i < changed.size(); ++i) {
      const auto& failures = histories_[i].failures;
      const auto passed_over = [&](const Failure& one) {
        return one.cause == *cause && job.passes_over(one);
      };
      differences[i] += (changed[i] - shares_[i]) / samples;
      control[i] +=
          static_cast<double>(cause ? std::ranges::count_if(failures, passed_over) : std::ssize(failures)) /
          samples;
    }
  }
  const double known = source_.ageing_parts() > 0 ? mean_of(control)
                       : cause ? source_.expected_of(*cause, request_.length) * (1 - job.rate_factor[*cause])
                               : source_.expected_failures(request_.length);
  const Estimated gain = estimated(differences, control, known, -1);
  const double mean = gain.mean, half = kTwoSided * gain.error;
  const double apart = kTwoSided * std::hypot(error_of(shares_), error_of(changed));
  return {std::move(what), mean, mean - half, mean + half, apart};
}

Result<Plan> Planner::make() {
  plan_.fabric = plant_.name;
  plan_.plant_hosts = plant_.hosts;
  for (const PartClass part : files::kPartClasses)
    plan_.parts[static_cast<std::size_t>(part)] = plant_.count(part);
  plan_.job = request_.job;
  note_caps();
  plan_.gpus = std::uint64_t{request_.job.hosts} * plant_.gpus_per_host;
  plan_.length = request_.length;
  plan_.histories = request_.histories;
  plan_.lead_time = request_.lead_time;
  plan_.seed = request_.seed;
  plan_.origin = rates_.origin;
  plan_.is_own = rates_.is_own;
  plan_.guesses = request_.guesses;
  plan_.unknown_parts = source_.unknown_parts();
  for (const files::ClassRates& each : rates_.classes)
    for (const std::string& guess : plant_.count(each.part) > 0 ? each.guesses : std::vector<std::string>())
      plan_.guesses.push_back(fmt::format("{} of {}", guess, plural(each.part)));
  for (const PartClass part : files::kPartClasses)
    if (rates_.find(part) == nullptr && plant_.count(part) > 0)
      plan_.guesses.push_back(fmt::format("no failure of {}, which the rates do not have", plural(part)));
  WEFT_TRY_VOID(check());
  plan_.job.spares = request_.spares.value_or(0);
  forecast();
  choose_interval();
  if (plan_.job.checkpoint_cost >= plan_.mean_to_failure ||
      efficiency(plan_.job.checkpoint_every, plan_.job.checkpoint_cost, plan_.job.down(),
                 plan_.mean_to_failure) < kMinProgress)
    return fail(
        ErrorKind::invalid_input,
        "the job makes no progress: it is interrupted every {:.3g} min, and needs {:.3g} min to restart "
        "and {:.3g} min to its next checkpoint",
        plan_.mean_to_failure.count() * 60, plan_.job.down().count() * 60,
        (plan_.job.checkpoint_every + plan_.job.checkpoint_cost).count() * 60);
  begin("drawing failures", request_.histories);
  histories_ = drawn(source_, request_.histories);
  choose_spares();
  forecast();  // with spares among its hosts the job stands at more leaves
  choose_interval();
  begin("running the job", request_.histories);
  const auto outcomes = run_all(source_, histories_, plan_.job);
  note_outcomes(outcomes);
  note_interruptions(outcomes);
  note_closed_forms();
  note_blast();
  note_differences();
  note_sweeps();
  note_shelf();
  note_pods();
  note_offenders();
  note_where();
  note_improvements();
  WEFT_TRY_VOID(note_what_ifs());
  return std::move(plan_);
}

Result<Plan> make_plan(const Plant& plant, const files::Rates& rates, const PlanRequest& request,
                       const PlanProgress& tell) {
  return Planner(plant, rates, request, tell).make();
}

}  // namespace weft::reliability
