#include "collectors/counters/port_history.hpp"

#include <algorithm>
#include <array>

#include "topology/base/statistics.hpp"

namespace weft::counters {
namespace {

constexpr std::uint64_t kTwoTo32 = std::uint64_t{1} << 32U;
/// Values at which counters of 16, 32 and 64 bits stay that do not wrap (classic PMA counters, some ASICs).
constexpr std::array<std::uint64_t, 3> kSaturated{65'535, kTwoTo32 - 1, ~std::uint64_t{0}};
/// A source reads later than it says, by a scrape's time at most; a rate may be a per cent above its name.
constexpr double kReadLate = 2.0;  // seconds
/// A refresh that was missed makes three steps four thirds of the line; a line that was split was twice as
/// fast.
constexpr std::size_t kStepsAround = 3;
constexpr double kMuchAbove = 1.45;
constexpr double kAboveRate = 1.02;
constexpr double kBelowUsual = 0.9;
/// How much faster than ever before a counter may have grown since a reset that nothing else tells of.
constexpr double kFasterThanEver = 4;
constexpr std::uint64_t kMinVouching = 16;  // a counter that stands at less may have counted that anew

struct Span {
  Nanoseconds from{}, to{};
};
bool overlap(const Span& a, const Span& b) { return a.from < b.to && b.from < a.to; }

/// Spans of time, which may overlap each other.
class Spans {
 public:
  void add(Span span) { all_.push_back(span); }
  bool empty() const { return all_.empty(); }
  /// Sorts, and joins those that overlap. To be called before `touch`.
  void join() {
    std::ranges::sort(all_, {}, &Span::from);
    std::size_t kept = 0;
    for (const Span& span : all_) {
      if (kept > 0 && span.from < all_[kept - 1].to)
        all_[kept - 1].to = std::max(all_[kept - 1].to, span.to);
      else
        all_[kept++] = span;
    }
    all_.resize(kept);
  }
  bool touch(const Span& span) const {
    const auto after = std::ranges::upper_bound(all_, span.from, {}, &Span::to);
    return after != all_.end() && overlap(*after, span);
  }

 private:
  std::vector<Span> all_;
};

double seconds(Nanoseconds time) { return std::chrono::duration<double>(time).count(); }

/// What the value of a point says beside the one before it.
enum class Step : std::uint8_t { forward, wrapped, wrong, restarted };

struct Series {
  const CounterSeries* read = nullptr;
  std::vector<CounterPoint> points;  // ascending in time, each time once
  std::vector<Step> steps;           // to each point from the one before; the first: forward
  double fastest = 0;                // a second, of the steps forward
  std::uint64_t largest = 0;
  std::uint64_t contradicted = 0;
  Span span(std::size_t i) const { return {points[i - 1].at, points[i].at}; }
};

bool other_epoch(const CounterPoint& a, const CounterPoint& b) {
  return a.epoch != 0 && b.epoch != 0 && a.epoch != b.epoch;
}

/// In the order of time; of a time with two values none, and none at all where times run against values.
Series ordered(const CounterSeries& read) {
  Series series{.read = &read, .points = read.points, .steps = {}};
  auto& points = series.points;
  const bool in_order = std::ranges::is_sorted(points, {}, &CounterPoint::at);
  if (!in_order) std::ranges::stable_sort(points, {}, &CounterPoint::at);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < points.size();) {
    std::size_t end = i + 1;
    bool same = true;
    for (; end < points.size() && points[end].at == points[i].at; ++end)
      same = same && points[end].value == points[i].value;
    if (same)
      points[kept++] = points[i];
    else
      ++series.contradicted;
    i = end;
  }
  points.resize(kept);
  const auto runs_back = [](const CounterPoint& a, const CounterPoint& b) {
    return b.value < a.value || other_epoch(a, b);  // of two epochs in each other's time there is no order
  };
  if (!in_order && std::ranges::adjacent_find(points, runs_back) != points.end()) {
    series.contradicted += points.size();
    points.clear();
  }
  for (const CounterPoint& point : points) series.largest = std::max(series.largest, point.value);
  return series;
}

class PortSteps {
 public:
  PortSteps(std::span<const CounterSeries> all, std::optional<Bandwidth> rate) : rate_(rate) {
    for (const CounterSeries& one : all) series_.push_back(ordered(one));
    for (Series& one : series_) find_fastest(one);
    for (Series& one : series_) judge_steps(one);
    find_moves();
    find_slow();
    resets_.join();
    moves_.join();
    slow_.join();
    events_.join();
  }

  std::vector<SeriesHistory> run() const {
    std::vector<SeriesHistory> all;
    all.reserve(series_.size());
    for (const Series& one : series_) all.push_back(windows_of(one));
    return all;
  }

 private:
  /// More than the link carries.
  bool is_above(PortCounter counter, double grew, double time) const {
    const auto most = rate_ ? most_a_second(counter, *rate_) : std::nullopt;
    return most && grew > kAboveRate * *most * (time + kReadLate);
  }
  /// A step of another line: one that follows what the source missed, or looks at its own times, is above as
  /// well, but not those around it.
  bool is_step_above(const Series& series, std::size_t i) const {
    const auto above = [&](std::size_t from, std::size_t to, double times) {
      const auto &a = series.points[from], &b = series.points[to];
      return b.value > a.value &&
             is_above(series.read->key.counter, static_cast<double>(b.value - a.value) / times,
                      seconds(b.at - a.at));
    };
    const std::size_t from = i < kStepsAround ? 0 : i - kStepsAround;
    return above(i - 1, i, 1) &&
           above(from, std::min(from + kStepsAround, series.points.size() - 1), kMuchAbove);
  }

  void find_fastest(Series& series) const {
    for (std::size_t i = 1; i < series.points.size(); ++i) {
      const auto &a = series.points[i - 1], &b = series.points[i];
      if (b.value >= a.value && b.at - a.at >= kMinWindow && !is_step_above(series, i))
        series.fastest =
            std::max(series.fastest, static_cast<double>(b.value - a.value) / seconds(b.at - a.at));
    }
  }

  /// Whether a counter of the port, another than `but`, went on over all of that time as after no reset.
  bool went_on(const Series* but, const Span& span) const {
    return std::ranges::any_of(series_, [&](const Series& other) {
      if (&other == but || other.points.empty() || other.fastest <= 0) return false;
      const auto after = std::ranges::upper_bound(other.points, span.from, {}, &CounterPoint::at);
      const auto last = std::ranges::lower_bound(other.points, span.to, {}, &CounterPoint::at);
      if (after == other.points.begin() || last == other.points.end()) return false;
      const auto first = after - 1;
      const double anew = kFasterThanEver * other.fastest * seconds(last->at - first->at);
      return first->value >= kMinVouching && static_cast<double>(first->value) > anew &&
             std::is_sorted(first, last + 1, [](const auto& a, const auto& b) { return a.value < b.value; });
    });
  }

  /// Of a value below the one before.
  Step judge_back(const Series& series, std::size_t i) const {
    const auto &a = series.points[i - 1], &b = series.points[i];
    const bool goes_on = went_on(&series, series.span(i));
    const bool same_epoch = knows_boot(a.epoch) && a.epoch == b.epoch;
    const double grew = static_cast<double>(b.value) + static_cast<double>(kTwoTo32 - a.value % kTwoTo32);
    const bool fits = series.largest < kTwoTo32 && (goes_on || (same_epoch && series.read->narrow)) &&
                      series.fastest > 0 && grew <= kFasterThanEver * series.fastest * seconds(b.at - a.at) &&
                      grew < static_cast<double>(kTwoTo32) / 2;
    if (fits) return Step::wrapped;
    return goes_on ? Step::wrong : Step::restarted;
  }

  void judge_steps(Series& series) {
    series.steps.assign(series.points.size(), Step::forward);
    for (std::size_t i = 1; i < series.points.size(); ++i) {
      const auto &a = series.points[i - 1], &b = series.points[i];
      if (other_epoch(a, b))
        series.steps[i] = Step::restarted;
      else if (b.value < a.value)
        series.steps[i] = judge_back(series, i);
      if (series.steps[i] == Step::restarted) resets_.add(series.span(i));
    }
  }

  /// Where codewords, which come at one rate, are fewer than that: a reset that hides, or no signal. Where
  /// they are more than the line makes, but not always, the port had another line: it was broken out since.
  void find_slow() {
    for (const Series& one : series_) {
      if (!facts(one.read->key.counter).moves) continue;
      std::vector<double> rates;
      const auto rate = [&](std::size_t i) {
        return static_cast<double>(one.points[i].value - one.points[i - 1].value) /
               seconds(one.points[i].at - one.points[i - 1].at);
      };
      for (std::size_t i = 1; i < one.points.size(); ++i)
        if (one.points[i].value > one.points[i - 1].value && !is_step_above(one, i)) rates.push_back(rate(i));
      if (rates.empty()) continue;
      const double usual = median(rates);
      for (std::size_t i = 1; i < one.points.size(); ++i) {
        const double time = seconds(one.points[i].at - one.points[i - 1].at);
        const bool grew = one.points[i].value > one.points[i - 1].value;  // else the source did not look
        const bool is_slow = rate(i) * time < usual * (kBelowUsual * time - kReadLate);
        if (grew && (is_slow || is_step_above(one, i))) slow_.add(one.span(i));
      }
    }
  }

  /// When the source looked at the port: by a counter that never stands still, or else by any.
  void find_moves() {
    const bool has_moving = std::ranges::any_of(
        series_, [](const Series& one) { return facts(one.read->key.counter).moves && one.largest > 0; });
    for (const Series& one : series_) {
      const auto& about = facts(one.read->key.counter);
      for (std::size_t i = 1; i < one.points.size(); ++i) {
        if (one.points[i].value == one.points[i - 1].value) continue;
        if (about.moves || !has_moving) moves_.add(one.span(i));
        if (one.read->key.counter == PortCounter::link_events) events_.add(one.span(i));
      }
    }
  }

  /// Of a series: where the next window begins, and what happened since.
  struct Start {
    const CounterPoint* point = nullptr;  // none: the next point that the source looked for begins
    std::uint64_t wraps = 0;
    bool after_reset = false;  // another may follow, unseen, while all values are small
  };

  SeriesHistory windows_of(const Series& series) const {
    SeriesHistory history{.port = series.read->port,
                          .key = series.read->key,
                          .source = series.read->source,
                          .exporter = series.read->exporter,
                          .windows = {},
                          .left_out = {.contradicted = series.contradicted}};
    const bool narrow = series.read->narrow || std::ranges::count(series.steps, Step::wrapped) > 0;
    Start start;
    for (std::size_t i = 0; i < series.points.size(); ++i) take(series, i, narrow, start, history);
    return history;
  }

  void take(const Series& series, std::size_t i, bool narrow, Start& start, SeriesHistory& history) const {
    const CounterPoint& point = series.points[i];
    auto& left = history.left_out;
    const bool is_fresh = i == 0 || moves_.touch(series.span(i));
    const auto begin = [&](bool after_reset) {
      start = {.point = is_fresh ? &point : nullptr, .after_reset = after_reset};
    };
    const auto begin_anew = [&](std::uint64_t& why) {
      ++why, begin(start.after_reset || &why == &left.restarted);
    };
    if (start.point == nullptr) return begin(start.after_reset);
    const Span span{start.point->at, point.at};
    const bool by_one = series.points[i - 1].value == point.value + 1;
    if (!other_epoch(*start.point, point) && (series.steps[i] == Step::wrong || by_one)) {
      // It is not known which of the two readings is wrong.
      if (!history.windows.empty() && history.windows.back().to == start.point->at)
        history.windows.pop_back();
      ++left.went_back;
      start = {.after_reset = true};
      return;
    }
    if (other_epoch(*start.point, point) || resets_.touch(span)) return begin_anew(left.restarted);
    if (series.steps[i] == Step::wrapped) ++start.wraps;
    if (point.at - start.point->at < kMinWindow) return;
    if (std::ranges::find(kSaturated, point.value) != kSaturated.end()) return begin_anew(left.saturated);
    if (!is_fresh) return void(++left.stood_still);  // the window goes on
    const bool vouched =
        went_on(nullptr, span) || (knows_boot(point.epoch) && point.epoch == start.point->epoch);
    const std::uint64_t grew = point.value + start.wraps * kTwoTo32 - start.point->value;
    if ((start.after_reset && !vouched) || slow_.touch(span))
      return begin_anew(
          is_above(series.read->key.counter, static_cast<double>(grew), seconds(span.to - span.from))
              ? left.impossible
              : left.restarted);
    if (auto* why = reason(series, span, grew, narrow, left)) return begin_anew(*why);
    history.wraps += start.wraps;
    history.windows.push_back({span.from, span.to, grew, point.epoch});
    begin(false);
  }

  /// Why a growth is not believed; null: it is.
  std::uint64_t* reason(const Series& series, const Span& span, std::uint64_t grew, bool narrow,
                        StepsLeftOut& left) const {
    const CounterKey key = series.read->key;
    const bool is_error = facts(key.counter).is_error || key.counter == PortCounter::fec_bin;
    if (is_error && events_.touch(span)) return &left.training;
    const double time = seconds(span.to - span.from);
    if (is_above(key.counter, static_cast<double>(grew), time)) return &left.impossible;
    const auto most = rate_ ? most_a_second(key.counter, *rate_) : std::nullopt;
    if (is_error || key.counter == PortCounter::link_events || series.largest >= kTwoTo32) return nullptr;
    const double grows = narrow && most ? *most : series.fastest;
    const double allowed = static_cast<double>(kTwoTo32) / (narrow && most ? 1 : 2);
    return grows * time > allowed ? &left.too_long : nullptr;
  }

  const std::optional<Bandwidth> rate_;
  std::vector<Series> series_;
  Spans resets_, moves_, slow_, events_;
};

}  // namespace

std::vector<SeriesHistory> port_history(std::span<const CounterSeries> of_one_port,
                                        std::optional<Bandwidth> rate) {
  return PortSteps(of_one_port, rate).run();
}

void each_history(const Fabric& fabric, CounterTable& table,
                  const std::function<void(std::span<const SeriesHistory>)>& take) {
  table.sort();
  table.fill_serials();
  const std::span<const CounterSeries> all(table.series());
  for (std::size_t begin = 0; begin < all.size();) {
    std::size_t end = begin + 1;
    while (end < all.size() && all[end].port == all[begin].port && all[end].source == all[begin].source)
      ++end;
    const auto link = fabric.port(all[begin].port).link;
    take(port_history(all.subspan(begin, end - begin),
                      link ? std::optional(fabric.link(*link).rate) : std::nullopt));
    begin = end;
  }
}

std::optional<Growth> growth(const SeriesHistory& history, Nanoseconds from, Nanoseconds to) {
  std::optional<Growth> sum;
  for (const CounterWindow& window : history.windows) {
    if (window.from < from || window.to > to) continue;
    if (!sum) sum = Growth{.from = window.from};
    sum->grew += window.grew;
    sum->watched += window.to - window.from;
    sum->to = window.to;
  }
  return sum;
}

}  // namespace weft::counters
