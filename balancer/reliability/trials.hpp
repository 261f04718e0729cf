// Trials: jobs over the same drawn histories, so that what two of them differ by is theirs alone. And what
// can be said of a mean over histories.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "balancer/reliability/plan.hpp"

namespace weft::reliability {

inline constexpr std::size_t kMaxHistories = 100'000;  // of a plan

/// Histories, with what they were drawn of, which must outlive them.
struct Drawn {
  const HistorySource& source;
  Hours length{};
  std::vector<History> histories;
};

/// Draws histories and runs jobs over them, and tells how many of them are done.
class Trials {
 public:
  /// Both must outlive it.
  Trials(const PlanRequest& request, const PlanProgress& tell) : request_(request), tell_(tell) {}

  /// What comes now, of so many histories that are drawn or run.
  void begin(std::string_view doing, std::size_t histories);
  /// `source` must outlive them.
  Drawn draw(const HistorySource& source, std::size_t count);
  std::vector<Outcome> run(const Drawn& drawn, const Job& job);

 private:
  void report_one();

  const PlanRequest& request_;
  const PlanProgress& tell_;
  std::string_view doing_;
  std::size_t done_ = 0, total_ = 0;
};

double mean_of(const std::vector<double>& values);
/// Standard error of the mean.
double error_of(const std::vector<double>& values);
std::vector<double> shares_of(const std::vector<Outcome>& outcomes);
/// The mean, `least` to 1, with what is known of the mean number of failures taken into account: a control
/// variate.
Estimated estimated(const std::vector<double>& values, const std::vector<double>& control, double known,
                    double least = 0);

/// The job as it is planned: what any change of it is compared with.
struct Baseline {
  const Drawn& drawn;
  Job job;
  std::vector<double> shares;  // effective, by history
};
/// `cause`: what `job` lets fail less often. Then the failures that it passes over tell most of the gain of
/// each history, otherwise all failures do; of both the mean is known, unless parts age. `samples` of such
/// failures, each of others: their mean is nearer to the truth.
Gain gain_of(Trials& trials, const Baseline& baseline, std::string what, Job job,
             std::optional<std::size_t> cause = std::nullopt, int samples = 1);

}  // namespace weft::reliability
