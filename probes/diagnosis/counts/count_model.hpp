// CountModel: the probability of the counts of a CountProblem under hazards of its suspects, and those
// hazards. A suspect may lose packets one by one (its hazard d) and in bursts (its hazard e of a burst that
// begins at a packet). With D and E the sums along the path, of n packets k are lost with probability
//   e^(-mE) (1 - s) Binomial(k; n, 1 - exp(-D)) + (1 - e^(-mE) (1 - s)) burst(k, n),
// s being the share of stray bursts that no channel explains (a host that was not scheduled), and m the
// packets at which a burst may begin that harms the row: its own, and those before it that a burst may last
// from. Hazards of both kinds are numbered alike: hazard i < suspects() is d of suspect i, the others e.
// Mutable state of one inference; one thread.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "probes/diagnosis/counts/count_problem.hpp"
#include "probes/diagnosis/counts/hazard_grid.hpp"

namespace weft::diagnosis {

/// What is believed of the background before any data.
struct BackgroundPrior {
  double most = 1e-4;  // loss of a healthy channel: what is above is a fault of it, or of the whole fabric
  bool even = false;   // all channels lose alike, and more than `most`
};

/// What a channel loses as a rule, by the packets lost over each suspect: first from the better half of the
/// channels, for most faults harm the other half; then from all that fit in with these.
double first_background(const CountProblem& problem, const std::vector<double>& lost);

/// Of bursts that lose k of n packets, before any is known: heavy-tailed, every size possible, all of them
/// likelier than most; sums to less than 1.
double burst_of(double k, double n);

/// Nats: beside 1, exp of this changes not even the last digit.
inline constexpr double kNothingBeside = -37.0;

/// The logarithm of a product: of many factors at once, as far as their product is a number to work with.
class LogProduct {
 public:
  static constexpr double kMost = 1e120;
  void multiply_by(double factor) {
    product_ *= factor;
    if (product_ > kMost || product_ < 1.0 / kMost) sum_ += std::log(product_), product_ = 1.0;
  }
  void add(double log) { sum_ += log; }
  double log() const { return sum_ + std::log(product_); }

 private:
  double product_ = 1.0, sum_ = 0.0;
};

class CountModel {
 public:
  /// The problem must outlive this. All channels start at the same hazard, estimated from the
  /// half of them whose paths lost least.
  CountModel(const CountProblem& problem, const BackgroundPrior& prior);

  const CountProblem& problem() const { return problem_; }
  const HazardGrid& grid() const { return grid_; }
  std::uint32_t suspects() const { return static_cast<std::uint32_t>(problem_.suspects.size()); }
  std::uint32_t suspect_of(std::uint32_t i) const { return i < suspects() ? i : i - suspects(); }
  bool is_burst(std::uint32_t i) const { return i >= suspects(); }
  double hazard(std::uint32_t i) const { return hazard_[i]; }
  void set_hazard(std::uint32_t i, double hazard);

  /// Log-likelihood of all counts as a function of this hazard, the others held, at every grid point; up to a
  /// constant. Valid until the next call.
  std::span<const double> profile(std::uint32_t i) const;
  /// False: no value of this hazard raises the log-likelihood above that of none by so much; cheap.
  bool may_gain(std::uint32_t i, double wanted) const;
  /// No value of a hazard d from `least` on raises the log-likelihood above that of a healthy one by more
  /// than this. It is made no closer than to tell whether it is below `wanted`; infinite where no bound is
  /// known. A few logarithms a row, where a profile takes dozens.
  double most_gained_from(std::uint32_t i, double least, double wanted) const;
  /// The same as profile at one value; the constant is another one.
  double value(std::uint32_t i, double hazard) const;
  /// Log-likelihood of all counts.
  double log_likelihood() const;

  struct Learned {
    double mean = 0;   // background hazard of a channel
    double shape = 0;  // of its spread over channels, posterior mean
    double stray = 0;  // share of observations with a stray burst
  };
  const Learned& learned() const { return learned_; }
  /// Learns background, spread and strays from all channels but the faulty ones (`faulty` by suspect), and
  /// sets the hazards of the healthy.
  void learn_background(const std::vector<bool>& faulty);
  /// Prior mass over the grid of a healthy hazard: by its number of channels; none, and bursts: exactly zero.
  const std::vector<double>& healthy_prior(std::uint32_t i) const;
  /// The hazard of a burst that each channel would need for the strays learned.
  double stray_hazard() const;
  /// What a healthy suspect's hazard is taken to be.
  double healthy_hazard(std::uint32_t i) const;

  /// The probability that a row's losses are a burst.
  double burst_weight(std::uint32_t row) const;
  /// Of a burst in this row, the probability that no channel explains it.
  double stray_weight(std::uint32_t row) const;
  double row_hazard(std::uint32_t row) const { return row_hazard_[row]; }
  double row_burst(std::uint32_t row) const { return row_burst_[row]; }

 private:
  /// Of paths of which a share crosses a suspect: what that adds to their hazard, and loses alone.
  struct Spread {
    double hazard = 0, lost = 0;
  };
  std::span<const Spread> spreads(double hazard, std::vector<Spread>& by_share) const;
  double lost_elsewhere(const CountProblem::Cell& cell, std::span<const Spread> own) const;
  /// Its binomial coefficient and its burst are numbers to work with.
  bool is_direct(std::uint32_t row) const { return choose_[row] > 0 && burst_term_[row] < LogProduct::kMost; }
  void multiply_by_row(std::uint32_t row, double lost, LogProduct& product) const;
  void set_row_hazard(std::uint32_t row, double hazard);
  double log_single(std::uint32_t row) const;
  /// The chance of a burst in a row that no channel explains: where its host dropped most of what it lost,
  /// the rest is likely to be of the same kind.
  double stray_of(std::uint32_t row) const;
  double log_burst_odds(std::uint32_t row, double events) const;
  void fold_bursts(std::uint32_t row);
  void multiply_by(double times, std::uint32_t k, double beside) const;
  double multiply_by_scaled(std::uint32_t row) const;
  std::span<const double> burst_profile(std::uint32_t suspect) const;
  void share_out(const std::vector<bool>& faulty);
  void learn_spread(const std::vector<bool>& faulty);
  void separate_strays_from_singles();
  double first_strays() const;
  void learn_sizes();
  void learn_strays();
  void make_healthy_priors(const std::vector<double>& shape_weights);
  void sum_rows();

  const CountProblem& problem_;
  BackgroundPrior prior_;
  Learned learned_;
  HazardGrid grid_;
  std::vector<double> hazard_;              // d of all suspects, then e of all
  std::vector<double> begins_;              // by suspect: CountProblem::begins_of_all_bursts
  std::vector<double> row_hazard_;          // by row: sum of d over its suspects, and of what its host drops
  std::vector<double> row_lost_;            // by row: the share of its packets that this loses
  mutable std::vector<double> log_single_;  // by row, once asked for; else no number
  std::vector<double> row_burst_;           // by row: sum of e
  std::vector<double> log_choose_;          // by row: ln (n choose k), and of what its host took
  std::vector<double> choose_;              // by row, where it is small enough to work with directly; else 0
  std::vector<double> log_burst_;           // by row: ln burst(k, n)
  std::vector<double> log_size_;            // by row: what the sizes of known bursts add to log_burst_
  std::vector<double> size_odds_;           // by row: how much likelier a fault makes its size than a stray
  std::vector<double> burst_term_;          // by row: odds of a burst times burst(k, n), or infinite
  std::vector<double> log_burst_term_;
  std::vector<double> passed_;  // shares x grid: what share of packets passes at this hazard
  std::vector<double> spread_;  // shares x grid: the hazard of a path of which that share crosses it
  std::vector<std::vector<double>> healthy_;  // by number of channels
  mutable std::vector<double> profile_;
  mutable std::vector<double> product_;
  mutable std::vector<double> lost_;  // of a row, by point: the share of its packets
  mutable std::vector<double> power_;
  mutable std::vector<double> exponents_;  // by point: exp of this times its hazard
  mutable double exponents_of_ = -1;
  mutable std::vector<Spread> own_, at_;  // by share
  struct Line {
    double k, rest, rise;
  };
  class Lines;
  mutable std::vector<Line> lines_;  // by row of a suspect
};

}  // namespace weft::diagnosis
