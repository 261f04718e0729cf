#include "balancer/reliability/trials.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "balancer/reliability/simulator.hpp"

namespace weft::reliability {
namespace {

constexpr double kTwoSided = 1.959964;  // 95 % of a normal distribution

}  // namespace

void Trials::begin(std::string_view doing, std::size_t histories) {
  doing_ = doing, done_ = 0, total_ = histories;
}

void Trials::report_one() {
  if (tell_) tell_(doing_, std::min(++done_, total_), total_);
}

Drawn Trials::draw(const HistorySource& source, std::size_t count) {
  const HistoryOptions options{.seed = request_.seed, .length = request_.length};
  Drawn drawn{source, request_.length, {}};
  drawn.histories.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    drawn.histories.push_back(source.draw(i, options));
    report_one();
  }
  return drawn;
}

std::vector<Outcome> Trials::run(const Drawn& drawn, const Job& job) {
  Simulator simulator(drawn.source, job);
  std::vector<Outcome> outcomes;
  outcomes.reserve(drawn.histories.size());
  for (const History& each : drawn.histories) {
    outcomes.push_back(simulator.run(each));
    report_one();
  }
  return outcomes;
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

Estimated estimated(const std::vector<double>& values, const std::vector<double>& control, double known,
                    double least) {
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

Gain gain_of(Trials& trials, const Baseline& baseline, std::string what, Job job,
             std::optional<std::size_t> cause, int samples) {
  const auto& [source, length, histories] = baseline.drawn;
  const std::vector<double>& shares = baseline.shares;
  std::vector<double> differences(histories.size(), 0), control(histories.size(), 0), changed;
  for (int sample = 0; sample < samples; ++sample) {
    if (cause) job.thin_shift = sample * (1 - job.rate_factor[*cause]);
    changed = shares_of(trials.run(baseline.drawn, job));
    for (std::size_t i = 0; i < changed.size(); ++i) {
      const auto& failures = histories[i].failures;
      const auto passed_over = [&](const Failure& one) {
        return one.cause == *cause && job.passes_over(one);
      };
      differences[i] += (changed[i] - shares[i]) / samples;
      control[i] +=
          static_cast<double>(cause ? std::ranges::count_if(failures, passed_over) : std::ssize(failures)) /
          samples;
    }
  }
  const double known = source.ageing_parts() > 0 ? mean_of(control)
                       : cause ? source.expected_of(*cause, length) * (1 - job.rate_factor[*cause])
                               : source.expected_failures(length);
  const Estimated gain = estimated(differences, control, known, -1);
  const double mean = gain.mean, half = kTwoSided * gain.error;
  const double apart = kTwoSided * std::hypot(error_of(shares), error_of(changed));
  return {std::move(what), mean, mean - half, mean + half, apart};
}

}  // namespace weft::reliability
