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
constexpr double kProbesMeet = 1e-5;     // a loss that a run of probes may meet
constexpr double kLieDecades = 7.0;      // of what is no loss, log-uniform
constexpr std::size_t kMaxWindows = 64;  // of one counter; of more, neighbours are one
constexpr int kFinePoints = 64;          // a decade: finer than kMinSpread
constexpr int kFineReach = 24;           // points to either side of what a counter says
constexpr double kScattered = 0.3;       // of true losses, those that come heaped in some windows
constexpr double kMaxSpread = 10.0;      // beyond it an error means anything
constexpr double kMinSpread = 0.05;      // of a gain: none is known better
constexpr double kSupport = 1.1;         // nats (3 to 1) by which others must say the same
constexpr double kExcludes = -3.0;       // nats
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

/// A window, or neighbouring ones.
struct Row {
  double errors = 0;
  double exposure = 0;
  double units = 0;  // exposure by gain: errors = units * hazard
};

/// One counter, in one window or several.
class Series {
 public:
  explicit Series(std::vector<const ChannelCount*> counts) {
    std::ranges::stable_sort(counts, {}, &ChannelCount::begin);
    const std::size_t step = (counts.size() + kMaxWindows - 1) / kMaxWindows;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const ChannelCount& count = *counts[i];
      if (i % step == 0) rows_.emplace_back();
      rows_.back().errors += static_cast<double>(count.errors);
      rows_.back().exposure += count.exposure;
      rows_.back().units += count.exposure / count.gain.frames_per_error;
      spread_ = std::max(spread_, count.gain.spread);
      near_event_ = near_event_ || count.link_event;
    }
    for (const Row& row : rows_) errors_ += row.errors, units_ += row.units;
    even_ = log_even(nullptr);
    heaped_ = log_heaped();
    for (const Row& row : rows_)
      if (row.errors > 0) but_.push_back({&row, log_even(&row)});
  }
  Series(Series&&) = default;
  Series& operator=(Series&&) = default;

  double errors() const { return errors_; }
  double units() const { return units_; }
  double implied() const { return errors_ / units_; }
  /// Its errors are others than a loss makes, however the gain is off: it and who says so are not of one
  /// mind.
  bool contradicts(double hazard) const {
    const double own = log_count(errors_, errors_, spread_);
    return log_count(errors_, units_ * hazard, spread_) - own < kExcludes;
  }

  /// ln P(counts | hazard of the channel).
  double log_likelihood(double hazard, const CounterLies& lies) const {
    const double no_loss = near_event_ ? lies.near_link_event : lies.no_loss;
    const double pattern = log_sum(std::log(1 - kScattered) + even_, std::log(kScattered) + heaped_);
    double all = std::log(1 - lies.stuck - no_loss) + log_count(errors_, units_ * hazard, spread_) + pattern;
    if (errors_ == 0) return log_sum(all, std::log(lies.stuck));
    // What is no loss, in one window: the others are true.
    const double one = std::log(no_loss * (1 - lies.persists) / static_cast<double>(rows_.size()));
    for (const auto& [row, even] : but_) {
      const double added = row->errors;
      const double rest = units_ - row->units;
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
  double log_even(const Row* but) const {
    double errors = 0, exposure = 0, sum = 0;
    for (const Row& row : rows_)
      if (&row != but) errors += row.errors, exposure += row.exposure;
    for (const Row& row : rows_)
      if (&row != but && row.errors > 0)
        sum += row.errors * std::log(row.exposure / exposure) - std::lgamma(row.errors + 1);
    return sum + std::lgamma(errors + 1);
  }
  /// The same where the share of each window is drawn (Dirichlet, one a window).
  double log_heaped() const {
    const auto windows = static_cast<double>(rows_.size());
    return std::lgamma(windows) + std::lgamma(errors_ + 1) - std::lgamma(errors_ + windows);
  }

  struct But {
    const Row* row;
    double even;
  };
  std::vector<Row> rows_;
  double errors_ = 0;
  double units_ = 0;
  double spread_ = 0;
  bool near_event_ = false;
  double even_ = 0, heaped_ = 0;
  std::vector<But> but_;
};

/// A counter by one source.
struct Reported {
  CounterLayer layer = CounterLayer::coding;
  std::string_view exporter;
  Series series;
};

std::vector<Reported> all_reported(std::span<const ChannelCount> counts) {
  using Key = std::tuple<CounterLayer, CounterKind, std::string_view>;
  std::map<Key, std::vector<const ChannelCount*>> by_source;
  for (const ChannelCount& count : counts)
    if (why_unusable(count) == nullptr)
      by_source[{*layer_of(count.kind), count.kind, count.source}].push_back(&count);
  std::vector<Reported> all;
  for (auto& [key, rows] : by_source)
    all.push_back({std::get<0>(key), exporter_of(*rows.front()), Series(std::move(rows))});
  return all;
}

/// Of each layer, among those for which `wanted` holds, the source that says the largest loss. One that reads
/// zero beside it may be stuck, or of another port: it does not speak for health then.
template <class Wanted>
std::vector<const Reported*> largest(std::span<const Reported> all, Wanted wanted) {
  std::map<CounterLayer, const Reported*> by_layer;
  const auto says = [](const Reported& told) {
    return std::pair(told.series.implied(), told.series.units());
  };
  for (const Reported& told : all) {
    if (!wanted(told)) continue;
    const Reported*& most = by_layer[told.layer];
    if (most == nullptr || says(*most) < says(told)) most = &told;
  }
  std::vector<const Reported*> found;
  for (const auto& [layer, told] : by_layer) found.push_back(told);
  return found;
}
std::vector<const Reported*> largest(std::span<const Reported> all) {
  return largest(all, [](const Reported&) { return true; });
}

bool is_independent(const Reported& a, const Reported& b) {
  return a.layer != b.layer && (a.exporter.empty() || a.exporter != b.exporter);
}

/// Hazards with the width of each on a logarithmic scale.
struct Point {
  double hazard = 0;
  double width = 0;
};
using Points = std::vector<Point>;

/// A few a decade, and many about what each counter says, where its likelihood is narrow.
Points points(double from, double to, std::span<const Reported* const> about) {
  std::vector<double> at;
  const double step = std::pow(10.0, 1.0 / kPointsADecade);
  for (double h = from; h < to * (1 + 1e-9); h *= step) at.push_back(h);
  for (const Reported* const told : about)
    for (int i = -kFineReach; i <= kFineReach; ++i)
      if (const double h = told->series.implied() * std::pow(10.0, static_cast<double>(i) / kFinePoints);
          h > from && h < to)
        at.push_back(h);
  std::ranges::sort(at);
  Points made;
  for (std::size_t i = 0; i < at.size(); ++i) {
    const double below = i == 0 ? at[i] : at[i - 1], above = i + 1 == at.size() ? at[i] : at[i + 1];
    made.push_back({at[i], std::log(above / below) / 2});
  }
  return made;
}
const Points& healthy_points() {
  static const Points all = points(kHealthiest, kHealthy, {});
  return all;
}
Points faulty_points(std::span<const Reported* const> about) { return points(kMinFault, kMost, about); }

double log_probes(const ProbedChannel& probed, double hazard) {
  return -probed.passed * hazard + probed.lossy_rows * std::log1p(hazard / probed.elsewhere);
}

double log_counts(std::span<const Reported* const> those, double hazard, const CounterLies& lies) {
  double sum = 0;
  for (const Reported* const told : those) sum += told->series.log_likelihood(hazard, lies);
  return sum;
}

/// ln of the mean over points of the exponential.
template <class Value>
double log_mean(const Points& at, Value value) {
  double sum = kLeast, width = 0;
  for (const Point& point : at) {
    sum = log_sum(sum, value(point.hazard) + std::log(point.width));
    width += point.width;
  }
  return sum - std::log(width);
}

/// ln of the likelihood ratio of a fault: the mean over faulty hazards to that over healthy ones.
template <class Value>
double log_ratio(const Points& faulty, Value value) {
  return log_mean(faulty, value) - log_mean(healthy_points(), value);
}

template <class Value>
void estimate(const Points& faulty, Value value, ChannelJudged& judged) {
  std::vector<double> weights;
  for (const Point& point : faulty) weights.push_back(value(point.hazard) + std::log(point.width));
  const double top = std::ranges::max(weights);
  if (!(top > kLeast)) return;  // no loss fits
  double all = 0;
  for (const double w : weights) all += std::exp(w - top);
  double below = 0;
  const std::array<std::pair<double, double*>, 3> wanted{
      {{0.025, &judged.low}, {0.5, &judged.loss}, {0.975, &judged.high}}};
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double next = below + std::exp(weights[i] - top) / all;
    for (const auto& [share, place] : wanted)
      if (below < share && next >= share) *place = faulty[i].hazard;
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

std::string_view exporter_of(const ChannelCount& count) {
  const std::string_view source(count.source);
  const auto end = source.find(": ");
  return end == source.npos ? std::string_view() : source.substr(0, end);
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
  const std::vector<Reported> all = all_reported(counts);
  const std::vector<const Reported*> most = largest(all);
  if (most.empty()) return std::nullopt;
  const Points faulty = faulty_points(most);
  const auto with_probes = [&](std::span<const Reported* const> those) {
    return [&, those](double hazard) { return log_probes(probed, hazard) + log_counts(those, hazard, lies); };
  };
  const auto by_all = with_probes(most);
  const double ratio = log_ratio(faulty, by_all);
  ChannelJudged judged;
  judged.probability = 1.0 / (1.0 + std::exp(-ratio) * (1 - kLossyChannels) / kLossyChannels);
  estimate(faulty, by_all, judged);
  for (const Reported* const one : most)
    judged.contradicted = judged.contradicted || std::ranges::any_of(all, [&](const Reported& other) {
                            return other.layer == one->layer && &other != one &&
                                   other.series.contradicts(one->series.implied());
                          });
  const auto is_excluded = [&](const Reported* one) {
    return log_probes(probed, std::min(one->series.implied(), kMost)) < kExcludes;
  };
  // The largest loss of those that the probes let pass; all are excluded: the largest.
  const auto* const accuser = *std::ranges::max_element(most, {}, [&](const Reported* one) {
    return std::tuple(one->series.errors() > 0, !is_excluded(one), one->series.implied());
  });
  judged.counted_loss = accuser->series.implied();
  const auto is_supported = [&](const Reported& one, auto wanted) {
    return log_ratio(faulty, with_probes(largest(all, wanted))) >= kSupport && one.series.errors() > 0;
  };
  // Of all that say as the accuser does, none is borne out by what is not of its exporter.
  judged.alone = std::ranges::none_of(all, [&](const Reported& one) {
    const bool agrees = &one == accuser || !one.series.contradicts(judged.counted_loss);
    return agrees && is_supported(one, [&](const Reported& other) { return is_independent(one, other); });
  });
  judged.one_exporter = judged.alone && is_supported(*accuser, [&](const Reported& other) {
                          return other.layer != accuser->layer;
                        });
  if (judged.alone || judged.contradicted)
    judged.probability = std::min(judged.probability, kMaxOfOneCounter);
  if (judged.counted_loss == 0) return judged;
  judged.excluded = is_excluded(accuser);
  for (const Reported* const one : most)
    if (one->series.errors() == 0)
      judged.excluded_by_zero = one->series.log_likelihood(std::min(judged.counted_loss, kMost), lies) -
                                    one->series.log_likelihood(kHealthiest, lies) <
                                kExcludes;
  return judged;
}

double nats_for_loss(std::span<const ChannelCount> counts, const CounterLies& lies) {
  const std::vector<Reported> told = all_reported(counts);
  const std::vector<const Reported*> all = largest(told);
  std::vector<const Reported*> accusers;
  for (const Reported* const one : all)
    if (one->series.errors() > 0) accusers.push_back(one);
  if (accusers.empty()) return 0;
  const auto by_counts = [&](double hazard) { return log_counts(all, hazard, lies); };
  const double ratio =
      log_mean(points(kProbesMeet, kMost, all), by_counts) - log_mean(healthy_points(), by_counts);
  const bool are_two = accusers.size() > 1 && is_independent(*accusers[0], *accusers[1]);
  return std::clamp(ratio, 0.0, kMaxForProbes * (are_two ? 2 : 1));
}

}  // namespace weft::diagnosis
