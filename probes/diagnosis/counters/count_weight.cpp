#include "probes/diagnosis/counters/count_weight.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>

namespace weft::diagnosis {
namespace {

constexpr int kPointsADecade = 8;  // finer than the width of a count of ten
constexpr double kHealthiest = 1e-14, kHealthy = 1e-10;
constexpr double kMinFault = 1e-9, kMost = 1.0;
constexpr double kProbesMeet = 1e-5;  // a loss that a run of probes may meet
constexpr double kLieDecades = 7.0;   // of what is no loss, log-uniform
constexpr double kMaxWindows = 64;    // of one counter; more are passed over
constexpr double kScattered = 0.3;    // of true losses, those that come heaped in some windows
constexpr double kMaxSpread = 10.0;   // beyond it an error means anything
constexpr double kMinSpread = 0.05;   // of a gain: none is known better
constexpr double kSupport = 1.1;      // nats (3 to 1) by which others must say the same
constexpr double kExcludes = -3.0;    // nats
constexpr double kLeast = -1e300;

double log_sum(double a, double b) {
  const double top = std::max(a, b);
  return top <= kLeast ? kLeast : top + std::log(std::exp(a - top) + std::exp(b - top));
}

/// Poisson of a mean that is gamma distributed around `mean`: `errors` where the gain is known to `spread`.
double log_count(double errors, double mean, double spread) {
  const double shape = 1.0 / std::pow(std::max(spread, kMinSpread), 2);
  if (mean <= 0) return errors > 0 ? kLeast : 0.0;
  return std::lgamma(errors + shape) - std::lgamma(shape) - std::lgamma(errors + 1) +
         errors * (std::log(mean) - std::log(mean + shape)) +
         shape * (std::log(shape) - std::log(mean + shape));
}

/// One counter, in one window or several.
class Series {
 public:
  explicit Series(std::vector<const ChannelCount*> rows) : rows_(std::move(rows)) {
    for (const ChannelCount* row : rows_) {
      errors_ += static_cast<double>(row->errors);
      units_ += row->exposure / row->gain.frames_per_error;
      spread_ = std::max(spread_, row->gain.spread);
      near_event_ = near_event_ || row->link_event;
    }
    even_ = log_even(nullptr);
    heaped_ = log_heaped();
    for (const ChannelCount* row : rows_)
      if (row->errors > 0) but_.push_back({row, log_even(row)});
  }

  double errors() const { return errors_; }
  double units() const { return units_; }
  double implied() const { return errors_ / units_; }

  /// ln P(counts | hazard of the channel).
  double log_likelihood(double hazard, const CounterLies& lies) const {
    const double no_loss = near_event_ ? lies.near_link_event : lies.no_loss;
    const double pattern = log_sum(std::log(1 - kScattered) + even_, std::log(kScattered) + heaped_);
    double all = std::log(1 - lies.stuck - no_loss) + log_count(errors_, units_ * hazard, spread_) + pattern;
    if (errors_ == 0) return log_sum(all, std::log(lies.stuck));
    // What is no loss, in one window: the others are true.
    const double one = std::log(no_loss * (1 - lies.persists) / static_cast<double>(rows_.size()));
    for (const auto& [row, even] : but_) {
      const auto added = static_cast<double>(row->errors);
      const double rest = units_ - row->exposure / row->gain.frames_per_error;
      all = log_sum(all, one + log_added(added, units_ * hazard - rest * hazard) +
                             log_count(errors_ - added, rest * hazard, spread_) + even);
    }
    const double always = no_loss * lies.persists;
    return log_sum(all, std::log(always) + log_added(errors_, units_ * hazard) + pattern);
  }

 private:
  /// Log-uniform, and at least what the loss makes beside it (Chernoff's bound where that is more).
  double log_added(double errors, double truth) const {
    const double bound =
        truth > errors ? log_count(errors, truth, spread_) - log_count(errors, errors, spread_) : 0;
    return bound - std::log(errors * kLieDecades * std::log(10.0));
  }
  /// ln of the multinomial probability of the windows, but for one, by their exposure.
  double log_even(const ChannelCount* but) const {
    double errors = 0, units = 0, sum = 0;
    for (const ChannelCount* row : rows_)
      if (row != but) errors += static_cast<double>(row->errors), units += row->exposure;
    for (const ChannelCount* row : rows_) {
      if (row == but || row->errors == 0) continue;
      const auto own = static_cast<double>(row->errors);
      sum += own * std::log(row->exposure / units) - std::lgamma(own + 1);
    }
    return sum + std::lgamma(errors + 1);
  }
  /// The same where the share of each window is drawn (Dirichlet, one a window).
  double log_heaped() const {
    const auto windows = static_cast<double>(rows_.size());
    return std::lgamma(windows) + std::lgamma(errors_ + 1) - std::lgamma(errors_ + windows);
  }

  struct But {
    const ChannelCount* row;
    double even;
  };
  std::vector<const ChannelCount*> rows_;
  double errors_ = 0;
  double units_ = 0;  // exposure by gain: errors = units * hazard
  double spread_ = 0;
  bool near_event_ = false;
  double even_ = 0, heaped_ = 0;
  std::vector<But> but_;
};

/// Of each layer the source with the largest exposure.
std::vector<Series> series_of(std::span<const ChannelCount> counts) {
  using Key = std::tuple<CounterLayer, CounterKind, std::string_view>;
  std::map<Key, std::vector<const ChannelCount*>> by_source;
  for (const ChannelCount& count : counts)
    if (why_unusable(count) == nullptr) {
      auto& rows = by_source[{*layer_of(count.kind), count.kind, count.source}];
      if (static_cast<double>(rows.size()) < kMaxWindows) rows.push_back(&count);
    }
  std::map<CounterLayer, Series> best;
  for (auto& [key, rows] : by_source) {
    Series series(std::move(rows));
    const auto [at, is_new] = best.try_emplace(std::get<0>(key), series);
    if (!is_new && series.units() > at->second.units()) at->second = std::move(series);
  }
  std::vector<Series> all;
  for (auto& [layer, series] : best) all.push_back(std::move(series));
  return all;
}

std::vector<double> points(double from, double to) {
  std::vector<double> all;
  const double step = std::pow(10.0, 1.0 / kPointsADecade);
  for (double h = from; h < to * (1 + 1e-9); h *= step) all.push_back(h);
  return all;
}
const std::vector<double>& healthy_points() {
  static const std::vector<double> all = points(kHealthiest, kHealthy);
  return all;
}
const std::vector<double>& faulty_points() {
  static const std::vector<double> all = points(kMinFault, kMost);
  return all;
}

double log_probes(const ProbedChannel& probed, double hazard) {
  return -probed.passed * hazard + probed.lossy_rows * std::log1p(hazard / probed.elsewhere);
}

/// ln of the mean over points of the exponential.
template <class Value>
double log_mean(const std::vector<double>& at, Value value) {
  double sum = kLeast;
  for (const double hazard : at) sum = log_sum(sum, value(hazard));
  return sum - std::log(static_cast<double>(at.size()));
}

/// ln of the likelihood ratio of a fault: the mean over faulty hazards to that over healthy ones.
template <class Value>
double log_ratio(Value value) {
  return log_mean(faulty_points(), value) - log_mean(healthy_points(), value);
}

void estimate(const std::vector<double>& log_weights, ChannelJudged& judged) {
  const double top = std::ranges::max(log_weights);
  if (!(top > kLeast)) return;  // no loss fits
  double all = 0;
  for (const double w : log_weights) all += std::exp(w - top);
  double below = 0;
  const std::array<std::pair<double, double*>, 3> wanted{
      {{0.025, &judged.low}, {0.5, &judged.loss}, {0.975, &judged.high}}};
  for (std::size_t i = 0; i < log_weights.size(); ++i) {
    const double next = below + std::exp(log_weights[i] - top) / all;
    for (const auto& [share, place] : wanted)
      if (below < share && next >= share) *place = faulty_points()[i];
    below = next;
  }
}

}  // namespace

std::optional<CounterLayer> layer_of(CounterKind kind) {
  switch (kind) {
    case CounterKind::codewords:
    case CounterKind::symbols:
      return CounterLayer::coding;
    case CounterKind::frames:
    case CounterKind::packets:
      return CounterLayer::mac;
    case CounterKind::discards:
      return std::nullopt;
  }
  return std::nullopt;
}

const char* why_unusable(const ChannelCount& count) {
  if (!layer_of(count.kind)) return "it counts no loss on the wire";
  if (!std::isfinite(count.exposure) || count.exposure <= 0) return "it does not tell of how many";
  const auto& [per_error, spread] = count.gain;
  if (!(per_error > 0) || !std::isfinite(count.exposure / per_error) ||
      !(spread >= 0 && spread <= kMaxSpread))
    return "what an error means is not known";
  if (static_cast<double>(count.errors) > count.exposure)
    return "it counts more errors than there was to err";
  if (count.period > Nanoseconds(0) && count.age / 2 > count.period) return "it is older than two periods";
  return nullptr;
}

std::optional<ChannelJudged> judge_channel(std::span<const ChannelCount> counts, const ProbedChannel& probed,
                                           const CounterLies& lies) {
  const auto all = series_of(counts);
  if (all.empty()) return std::nullopt;
  const auto by_all = [&](double hazard) {
    double sum = log_probes(probed, hazard);
    for (const Series& series : all) sum += series.log_likelihood(hazard, lies);
    return sum;
  };
  const double ratio = log_ratio(by_all);
  ChannelJudged judged;
  judged.probability = 1.0 / (1.0 + std::exp(-ratio) * (1 - kLossyChannels) / kLossyChannels);
  std::vector<double> weights;
  for (const double hazard : faulty_points()) weights.push_back(by_all(hazard));
  estimate(weights, judged);
  const auto most = std::ranges::max_element(all, {}, &Series::implied);
  judged.counted_loss = most->implied();
  const auto by_others = [&](double hazard) {
    double sum = log_probes(probed, hazard);
    for (const Series& series : all)
      if (&series != &*most) sum += series.log_likelihood(hazard, lies);
    return sum;
  };
  judged.alone = log_ratio(by_others) < kSupport;
  if (judged.alone) judged.probability = std::min(judged.probability, kMaxOfOneCounter);
  if (most->errors() == 0) return judged;
  const double counted = std::min(judged.counted_loss, kMost);
  judged.excluded = log_probes(probed, counted) < kExcludes;
  for (const Series& series : all)
    if (series.errors() == 0)
      judged.excluded_by_zero =
          series.log_likelihood(counted, lies) - series.log_likelihood(kHealthiest, lies) < kExcludes;
  return judged;
}

double nats_for_loss(std::span<const ChannelCount> counts, const CounterLies& lies) {
  const auto all = series_of(counts);
  const auto accuse = std::ranges::count_if(all, [](const Series& series) { return series.errors() > 0; });
  if (accuse == 0) return 0;
  const auto by_counts = [&](double hazard) {
    double sum = 0;
    for (const Series& series : all) sum += series.log_likelihood(hazard, lies);
    return sum;
  };
  const double ratio =
      log_mean(points(kProbesMeet, kMost), by_counts) - log_mean(healthy_points(), by_counts);
  return std::clamp(ratio, 0.0, kMaxForProbes * static_cast<double>(accuse));
}

}  // namespace weft::diagnosis
