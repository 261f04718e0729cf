// CountModel: the probability of the counts of a CountProblem under hazards of its suspects, and those
// hazards. P(k of n lost) = (1 - burst) Binomial(k; n, 1 - exp(-D)) + burst * stray(k), where D is the sum of
// the hazards along the path and a stray burst is a loss that no channel explains (a host that was not
// scheduled). Mutable state of one inference; one thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "probes/diagnosis/count_problem.hpp"
#include "probes/diagnosis/hazard_grid.hpp"

namespace weft {

/// A path's hazard is never quite zero.
inline constexpr double kSmallestHazard = 1e-12;

class CountModel {
 public:
  /// The problem must outlive this. All channels start at the same hazard, estimated from the
  /// half of them whose paths lost least.
  explicit CountModel(const CountProblem& problem);

  const CountProblem& problem() const { return problem_; }
  const HazardGrid& grid() const { return grid_; }
  double hazard(std::uint32_t suspect) const { return hazard_[suspect]; }
  void set_hazard(std::uint32_t suspect, double hazard);

  /// Log-likelihood of all counts as a function of this suspect's hazard, the others held, at every grid
  /// point; up to a constant. Valid until the next call.
  std::span<const double> profile(std::uint32_t suspect) const;
  /// No hazard of this suspect raises the log-likelihood above that of none by more than this; cheap.
  double most_gained(std::uint32_t suspect) const;
  /// The same as profile at one hazard; the constant is another one.
  double value(std::uint32_t suspect, double hazard) const;

  struct Learned {
    double mean = 0;   // background hazard of a channel
    double shape = 0;  // of its spread over channels, posterior mean
    double burst = 0;  // share of observations with a stray burst
  };
  const Learned& learned() const { return learned_; }
  /// Learns background, spread and bursts from all channels but the faulty ones (`faulty` by suspect), and
  /// sets the hazards of the healthy.
  void learn_background(const std::vector<bool>& faulty);
  /// Prior mass over the grid of a healthy suspect's hazard: by its number of channels; none: exactly zero.
  const std::vector<double>& healthy_prior(std::uint32_t suspect) const;

 private:
  double others(std::uint32_t row, double share, double own) const;
  void share_out(const std::vector<bool>& faulty);
  void learn_spread(const std::vector<bool>& faulty);
  void learn_bursts();
  void make_healthy_priors(const std::vector<double>& shape_weights);
  double burst_weight(std::uint32_t row) const;
  void sum_rows();

  const CountProblem& problem_;
  Learned learned_;
  HazardGrid grid_;
  std::vector<double> hazard_;      // by suspect
  std::vector<double> row_hazard_;  // by row: sum over its suspects
  std::vector<double> log_choose_;  // by row: ln (n choose k)
  std::vector<double> choose_;      // by row, where it is small enough to work with directly; else 0
  std::vector<double> passed_;      // shares x grid: what share of packets passes at this hazard
  std::vector<double> spread_;      // shares x grid: the hazard of a path of which that share crosses it
  std::vector<std::vector<double>> healthy_;  // by number of channels
  mutable std::vector<double> profile_;
  mutable std::vector<double> product_;
};

}  // namespace weft
