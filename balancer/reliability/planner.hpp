// Planner: everything that is asked of the same histories, for plan.cpp and plan_advice.cpp.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "balancer/reliability/plan.hpp"
#include "balancer/reliability/simulator.hpp"

namespace weft::reliability {

inline constexpr double kTwoSided = 1.959964;  // 95 % of a normal distribution

double mean_of(const std::vector<double>& values);
/// Standard error of the mean.
double error_of(const std::vector<double>& values);
std::vector<double> shares_of(const std::vector<Outcome>& outcomes);

/// Of the time of a job that one slow part of this class slows.
double lost_to(const files::ClassRates& rates, const Job& job);

class Planner {
 public:
  Planner(const Plant& plant, const files::Rates& rates, const PlanRequest& request, const PlanProgress& tell)
      : request_(request), tell_(tell), source_(plant, rates), plant_(plant), rates_(rates) {}

  Result<Plan> make();

 private:
  Result<void> check() const;
  Result<void> check_times(const Job& job) const;
  /// What comes now, of so many histories that are drawn or run.
  void begin(std::string_view doing, std::size_t histories);
  void report_one();
  std::vector<History> drawn(const HistorySource& source, std::size_t count);
  std::vector<Outcome> run_all(const HistorySource& source, const std::vector<History>& histories,
                               const Job& job);
  void look_for_spares(const HistorySource& source, Index wanted);
  std::size_t histories_for_spares(const HistorySource& source) const;
  void choose_interval();
  Hours interval_of(const Job& job) const;
  void choose_spares();
  void note_outcomes(const std::vector<Outcome>& outcomes);
  Gain gain_of(std::string what, Job job, std::optional<std::size_t> cause = std::nullopt, int samples = 1);
  void forecast();
  void note_interruptions(const std::vector<Outcome>& outcomes);
  void note_closed_forms();
  void note_differences();
  void note_sweeps();
  BlastRow blast_of(std::string what, const std::vector<Index>& hosts,
                    const std::vector<Index>& switches) const;
  void note_blast();
  void note_shelf();
  void note_caps();
  void note_pods();
  void note_offenders();
  void note_where();
  void note_if_silent();
  std::vector<std::pair<std::string, Job>> shorter_times() const;
  void note_improvements();
  /// Of the job as it is planned so far. Error (usage): it cannot be.
  Result<WhatIf> what_if_of(const std::string& text) const;
  Result<void> note_what_ifs();
  /// The share of the failures of a class that are of parts which the job has, or its pool, or depends on.
  /// stopping: of those without which a host does not go on.
  enum class Of : std::uint8_t { job, stopping_job, stopping_pool };
  double share_of_job(std::size_t cause, Of of) const;
  bool stops_at(Index leaf, Index host) const;
  void forecast_domains();

  const PlanRequest& request_;
  const PlanProgress& tell_;
  std::string_view doing_;
  std::size_t done_ = 0, total_ = 0;
  HistorySource source_;
  const Plant& plant_;
  const files::Rates& rates_;
  std::vector<History> histories_;
  std::vector<double> shares_;        // effective, by history
  std::vector<CountSource> domains_;  // that hit the job: what interrupts it
  Plan plan_;
};

}  // namespace weft::reliability
