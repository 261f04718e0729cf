// How CountModel learns the background: its mean, its spread over channels, stray bursts and the sizes of
// bursts.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "probes/diagnosis/counts/count_model.hpp"
#include "topology/base/statistics.hpp"

namespace weft::diagnosis {
namespace {

constexpr std::array kShapes{0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 5.6, 8.0, 12.0};
/// What is believed of the spread before any data, for where they are few: backgrounds uniform from zero have
/// shape 3 and a shorter tail than that gamma, exponential ones 1.
double log_prior_of_shape(double shape) {
  const double z = std::log(shape / 5.0) / 0.6;
  return -0.5 * z * z;
}
constexpr std::size_t kMaxSampled = 1500;   // channels enough to learn a spread from
constexpr std::size_t kSharpestClass = 16;  // beyond it a sum's spread is below the grid's step
/// Of channels, those that may be faulty and not yet known to be: one of them says nothing of the spread.
constexpr double kUnseenFaults = 0.002;
constexpr int kMinSweeps = 4;
constexpr int kMaxSweeps = 60;         // where half of the channels are faulty few paths tell of the others
constexpr double kSettledMean = 0.02;  // a change by less, in one sweep
constexpr double kMaxStrays = 0.02;    // of all observations
constexpr double kFirstGuess = 0.5;    // of the strays seen before any fault is named: some are faults
constexpr double kEvenShape = 4.0;     // where all lose alike, by no more than a half of it

/// Events beyond chance (three standard deviations and three of grace) where `expected` are usual.
bool gathers(double events, double expected) { return events > expected + 3 * std::sqrt(expected) + 3; }

/// Events a unit of `exposed`, from the quarter with the fewest on, then pooled over all that do not gather
/// them.
double usual_rate(const std::vector<double>& events, const std::vector<double>& exposed) {
  std::vector<double> rates;
  for (std::size_t i = 0; i < events.size(); ++i) rates.push_back(events[i] / exposed[i]);
  double usual = quantile(rates, 0.25);
  for (int turn = 0; turn < 8; ++turn) {
    double all = 0.5, of = 1;
    for (std::size_t i = 0; i < events.size(); ++i)
      if (!gathers(events[i], usual * exposed[i])) all += events[i], of += exposed[i];
    usual = all / of;
  }
  return usual;
}

/// The sizes of some bursts. They come in crowds, as faults do: each makes others of about its size, within a
/// factor of two, likelier than burst_of does.
class BurstSizes {
 public:
  void add(double k, double weight) {
    const std::size_t bin = bin_of(k);
    if (bin >= weight_.size()) weight_.resize(bin + 1, 0.0);
    weight_[bin] += weight;
    all_ += weight;
  }
  double all() const { return all_; }

  /// By how much a burst of k of n packets is likelier beside them. It is one of them itself, of the weight
  /// `own`, and says nothing of itself.
  double times_likelier(double k, double n, double own) {
    const double others = all_ - own;
    if (others < kMinBursts) return 1.0;
    const Density& density = density_for(n);
    const std::size_t bin = bin_of(k);
    const double alike = std::max(density.of_all[bin] - own * density.of_one[bin], 0.0) / others;
    const double counts = std::min(others, kWorth);
    return (kWorth + counts * alike) / (kWorth + counts);
  }

 private:
  static constexpr double kMinBursts = 1e-3;  // bursts: fewer are none
  static constexpr double kWorth = 8;  // bursts that what is believed of sizes before any is worth; as many
                                       // count at most, so that other sizes stay half as likely as they were
  static constexpr double kBin = 0.3466;  // of log sizes: half of ln 2
  static constexpr double kAlike = 0.7;   // log size: as of the hazards of faults (CountState)

  /// By bin, in units of burst_of.
  struct Density {
    std::vector<double> of_one, of_all;
  };

  static std::size_t bin_of(double k) { return static_cast<std::size_t>(std::lround(std::log(k) / kBin)); }
  static double first_of(std::size_t bin) {
    return std::ceil(std::exp((static_cast<double>(bin) - 0.5) * kBin));
  }
  static double near(std::size_t bin, std::size_t other) {
    const double apart = (static_cast<double>(bin) - static_cast<double>(other)) * kBin / kAlike;
    return std::exp(-0.5 * apart * apart);
  }
  /// What burst_of says of all sizes in a bin.
  static double mass_of(std::size_t bin, double n) {
    const double first = first_of(bin), last = std::min(first_of(bin + 1) - 1, n);
    return first > last ? 0.0 : (last - first) * burst_of(std::sqrt(first * last), n) + burst_of(last, n);
  }

  const Density& density_for(double n) {
    Density& density = densities_[n];
    if (!density.of_one.empty()) return density;
    const std::size_t bins = std::max(bin_of(n) + 1, weight_.size());
    std::vector<double> mass;
    for (std::size_t bin = 0; bin < bins; ++bin) mass.push_back(mass_of(bin, n));
    for (std::size_t bin = 0; bin < bins; ++bin) {
      double sum = 0;
      for (std::size_t other = 0; other < bins; ++other) sum += mass[other] * near(bin, other);
      density.of_one.push_back(1 / sum);
    }
    for (std::size_t bin = 0; bin < bins; ++bin) {
      double sum = 0;
      for (std::size_t other = 0; other < weight_.size(); ++other)
        sum += weight_[other] * near(bin, other) * density.of_one[other];
      density.of_all.push_back(sum);
    }
    return density;
  }

  std::vector<double> weight_;  // by bin
  double all_ = 0;
  std::map<double, Density> densities_;  // by packets of a row
};

}  // namespace

double first_background(const CountProblem& problem, const std::vector<double>& lost) {
  std::vector<double> events, exposed;
  double crossings = 0;
  for (std::uint32_t s = 0; s < problem.suspects.size(); ++s) {
    const Suspect& suspect = problem.suspects[s];
    if (!suspect.is_channel()) continue;
    events.push_back(lost[s]);
    exposed.push_back(static_cast<double>(suspect.sent));
    crossings += problem.survivors(s) * static_cast<double>(suspect.channels.size());
  }
  if (events.empty()) return 1e-8;
  const double channels_a_path = std::max(crossings / std::max(static_cast<double>(problem.sent), 1.0), 1.0);
  return std::clamp(usual_rate(events, exposed) / channels_a_path, 1e-8, 0.1);
}

void CountModel::make_healthy_priors(const std::vector<double>& shape_weights) {
  healthy_.assign(1, std::vector<double>(grid_.size(), 0.0));
  healthy_.front()[0] = 1.0;
  for (const Suspect& suspect : problem_.suspects) {
    const std::size_t channels = suspect.is_channel() ? suspect.channels.size() : 0;
    if (channels >= healthy_.size()) healthy_.resize(channels + 1);
    if (!healthy_[channels].empty()) continue;
    std::vector<double>& mass = healthy_[channels];
    mass.assign(grid_.size(), 0.0);
    const auto add = [&](double shape, double weight) {
      const double summed = shape * static_cast<double>(std::min(channels, kSharpestClass));
      const auto part = grid_.healthy(learned_.mean * static_cast<double>(channels), summed);
      for (std::size_t g = 0; g < mass.size(); ++g) mass[g] += weight * part[g];
    };
    if (shape_weights.empty()) add(learned_.shape, 1.0);
    for (std::size_t i = 0; i < shape_weights.size(); ++i) add(kShapes[i], shape_weights[i]);
  }
}

/// Expectation-maximisation for Poisson streams that are seen only as sums (as in Vardi, JASA 1996): each
/// lost packet is shared out among the channels of its path by their hazards.
void CountModel::share_out(const std::vector<bool>& faulty) {
  std::vector<double> lost(problem_.suspects.size(), 0.0);
  std::vector<double> exposed;
  for (std::uint32_t s = 0; s < problem_.suspects.size(); ++s) exposed.push_back(problem_.survivors(s));
  for (std::uint32_t row = 0; row < problem_.row_count(); ++row) {
    const double d = std::max(row_hazard_[row], kMinHazard);
    const double from_channels = problem_.k[row] * (1.0 - burst_weight(row));
    // A lost packet was exposed until it was lost: the mean of an exponential cut at 1.
    const double exposure = d < 1e-6 ? 0.5 : 1.0 / d - 1.0 / std::expm1(d);
    for (const auto& cell : problem_.suspects_of(row)) {
      const double share = problem_.shares[cell.share];
      lost[cell.index] += from_channels * share * hazard_[cell.index] / d;
      exposed[cell.index] += problem_.k[row] * exposure * share;
    }
  }
  double all_lost = 0.5;
  double all_exposed = 0;
  for (std::uint32_t s = 0; s < problem_.suspects.size(); ++s)
    if (problem_.suspects[s].is_channel() && !faulty[s]) {
      all_lost += lost[s];
      all_exposed += exposed[s] * static_cast<double>(problem_.suspects[s].channels.size());
    }
  if (all_exposed > 0) learned_.mean = std::max(all_lost / all_exposed, 1e-9);
  if (!prior_.even) learned_.mean = std::min(learned_.mean, prior_.most);
  for (std::uint32_t s = 0; s < problem_.suspects.size(); ++s)
    if (problem_.suspects[s].is_channel() && !faulty[s]) {
      const double shape = learned_.shape * static_cast<double>(problem_.suspects[s].channels.size());
      hazard_[s] = (shape + lost[s]) / (learned_.shape / learned_.mean + exposed[s]);
    }
  sum_rows();
}

void CountModel::learn_spread(const std::vector<bool>& faulty) {
  std::vector<std::uint32_t> sampled;
  for (std::uint32_t s = 0; s < problem_.suspects.size(); ++s)
    if (problem_.suspects[s].is_channel() && !faulty[s] && problem_.suspects[s].channels.size() == 1)
      sampled.push_back(s);
  const std::size_t stride = sampled.size() / kMaxSampled + 1;
  std::array<double, kShapes.size()> log_weight{};
  std::array<std::vector<double>, kShapes.size()> priors;
  for (std::size_t i = 0; i < kShapes.size(); ++i) {
    log_weight[i] = prior_.even && kShapes[i] < kEvenShape ? -1e3 : log_prior_of_shape(kShapes[i]);
    priors[i] = grid_.healthy(learned_.mean, kShapes[i]);
  }
  const std::vector<double> faults = grid_.faulty(10 * learned_.mean);
  std::vector<double> likelihood(grid_.size());
  for (std::size_t at = 0; at < sampled.size(); at += stride) {
    const auto log_likelihood = profile(sampled[at]);
    const double top = std::ranges::max(log_likelihood);
    for (std::size_t g = 0; g < likelihood.size(); ++g) likelihood[g] = std::exp(log_likelihood[g] - top);
    double as_fault = 0;
    for (std::size_t g = 0; g < likelihood.size(); ++g) as_fault += kUnseenFaults * likelihood[g] * faults[g];
    for (std::size_t i = 0; i < kShapes.size(); ++i) {
      double sum = as_fault;
      for (std::size_t g = 0; g < likelihood.size(); ++g) sum += likelihood[g] * priors[i][g];
      log_weight[i] += std::log(sum);
    }
  }
  const double top = std::ranges::max(log_weight);
  std::vector<double> weights;
  double total = 0;
  for (const double w : log_weight) total += weights.emplace_back(std::exp(w - top));
  learned_.shape = 0;
  for (std::size_t i = 0; i < kShapes.size(); ++i) learned_.shape += (weights[i] /= total) * kShapes[i];
  make_healthy_priors(weights);
}

/// Before anything is known to be faulty: bursts off the channels that gather more of them than is usual.
/// More than strays can be are none.
double CountModel::first_strays() const {
  std::vector<double> weight(problem_.row_count());
  std::vector<double> bursts(suspects(), 0.0);
  for (std::uint32_t row = 0; row < problem_.row_count(); ++row) {
    weight[row] = problem_.excused[row] > 0 ? 0.0 : burst_weight(row);
    for (const auto& cell : problem_.suspects_of(row))
      bursts[cell.index] += problem_.shares[cell.share] * weight[row];
  }
  std::vector<double> events, exposed;
  for (std::uint32_t s = 0; s < suspects(); ++s)
    if (problem_.suspects[s].is_channel()) {
      events.push_back(bursts[s]);
      exposed.push_back(problem_.suspects[s].observations);
    }
  if (events.empty()) return learned_.stray;
  const double usual = usual_rate(events, exposed);
  std::vector<bool> gathers_them(suspects(), false);
  double strays = 0, observations = 0;
  for (std::uint32_t s = 0; s < suspects(); ++s) {
    const Suspect& suspect = problem_.suspects[s];
    if (!suspect.is_channel()) continue;
    gathers_them[s] = gathers(bursts[s], usual * suspect.observations);
    if (!gathers_them[s]) observations += suspect.observations;
  }
  for (std::uint32_t row = 0; row < problem_.row_count(); ++row) {
    const auto cells = problem_.suspects_of(row);
    if (std::ranges::any_of(cells, [&](const auto& cell) { return gathers_them[cell.index]; })) continue;
    for (const auto& cell : cells) strays += problem_.suspects[cell.index].is_channel() ? weight[row] : 0.0;
  }
  const double share = strays / std::max(observations, 1.0);
  return share > kMaxStrays ? learned_.stray : std::max(kFirstGuess * share, learned_.stray);
}

/// From the bursts of the faults that are known, and from those that nothing explains: both of them, for a
/// host that pauses does so for about as long each time, too.
void CountModel::learn_sizes() {
  const std::uint32_t rows = static_cast<std::uint32_t>(problem_.row_count());
  std::vector<double> of_faults(rows, 0.0), of_strays(rows, 0.0);
  BurstSizes faults, strays;
  for (std::uint32_t row = 0; row < rows; ++row) {
    if (problem_.excused[row] > 0) continue;
    const double burst = burst_weight(row), stray = stray_weight(row);
    faults.add(problem_.k[row], of_faults[row] = burst * (1 - stray));
    strays.add(problem_.k[row], of_strays[row] = burst * stray);
  }
  const bool none = faults.all() < 1;
  for (std::uint32_t row = 0; row < rows; ++row) {
    if (problem_.excused[row] > 0) continue;
    const double k = problem_.k[row], n = problem_.n[row];
    const double by_faults = none ? 1.0 : faults.times_likelier(k, n, of_faults[row]);
    const double by_strays = none ? 1.0 : strays.times_likelier(k, n, of_strays[row]);
    log_burst_[row] += std::log(by_faults) - log_size_[row];
    log_size_[row] = std::log(by_faults);
    size_odds_[row] = by_faults / by_strays;
  }
}

/// The share of strays cannot grow into the faults: kMaxStrays bounds it.
void CountModel::learn_strays() {
  double strays = 0.5;
  for (std::uint32_t row = 0; row < problem_.row_count(); ++row)
    if (problem_.excused[row] == 0) strays += burst_weight(row) * stray_weight(row);
  learned_.stray = std::min(strays / (static_cast<double>(problem_.observations) + 1000.0), kMaxStrays);
  for (std::uint32_t row = 0; row < problem_.row_count(); ++row) fold_bursts(row);
}

void CountModel::learn_background(const std::vector<bool>& faulty) {
  double before = 0;
  for (int sweep = 0; sweep < kMaxSweeps; ++sweep) {
    if (sweep >= kMinSweeps && std::abs(learned_.mean - before) < kSettledMean * before) break;
    before = learned_.mean;
    share_out(faulty);
  }
  learn_sizes();
  learn_strays();
  learn_spread(faulty);
}

}  // namespace weft::diagnosis
