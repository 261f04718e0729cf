#include "collectors/counters/prometheus.hpp"

#include <algorithm>
#include <set>

#include "collectors/counters/prometheus_answer.hpp"
#include "topology/base/whole_number.hpp"

namespace weft::counters {
namespace {

class Asking {
 public:
  Asking(const Fabric& fabric, const PrometheusSource& source, const AskPrometheus& ask, CounterTable& into)
      : fabric_(fabric), source_(source), ask_(ask), into_(into), ports_(fabric, source.renames) {}

  Result<void> read(const MetricPreset& preset) {
    boots_.clear();
    source_number_ = into_.source(preset.name);
    if (!preset.boot_metric.empty())
      WEFT_TRY_VOID(query({.metric = preset.boot_metric}, [&](const PrometheusSeries& series) {
        boots_[std::string(series.label(preset.node_label))] = series.points;
        return Result<void>();
      }));
    for (const MetricRule& rule : preset.rules) {
      seen_.assign(fabric_.port_count() * kIndexes, false);
      ports_.begin_metric();
      WEFT_TRY_VOID(query(rule, [&](const PrometheusSeries& series) { return take(preset, rule, series); }));
    }
    return {};
  }

 private:
  template <class Take>
  Result<void> query(const MetricRule& rule, Take take) {
    std::string matchers = source_.match;
    if (!rule.label.empty())
      matchers += fmt::format("{}{}=\"{}\"", matchers.empty() ? "" : ",", rule.label, rule.value);
    const auto promql = fmt::format("{}{{{}}}[{}ms]", rule.metric, matchers,
                                    std::chrono::ceil<std::chrono::milliseconds>(source_.window).count());
    WEFT_TRY(const auto answer, ask_(source_.offset.count() > 0 ? promql + offset_words() : promql));
    const std::function<Result<void>(const PrometheusSeries&)> taken = take;
    const auto done = read_matrix(answer, taken);
    return done ? done : pass_on(done, rule.metric);
  }

  std::string offset_words() const {
    return fmt::format(" offset {}s",
                       std::chrono::duration_cast<std::chrono::seconds>(source_.offset).count());
  }

  Result<void> take(const MetricPreset& preset, const MetricRule& rule, const PrometheusSeries& series) {
    const auto node = series.label(preset.node_label), name = series.label(preset.port_label);
    const auto port = ports_.find(node, name);
    if (!port) {
      const auto words = fmt::format("{} {}: {}", node, name, port.error().message);
      if (unplaced_.insert(words).second) into_.unplaced.add(words);
      return {};
    }
    CounterKey key = rule.key;
    if (!rule.index_label.empty()) {
      key.index = parse_whole_number<std::uint8_t>(series.label(rule.index_label));
      if (!key.index || !parse_counter_key(to_string(key)))
        return into_.refused.add(fmt::format("{} of {} {}: '{}' is no index", rule.metric, node, name,
                                             series.label(rule.index_label))),
               Result<void>();
    }
    const std::size_t place = port->value() * kIndexes + (key.index ? *key.index + 1U : 0U);
    CounterSeries& to = into_.at(*port, key, source_number_);
    const bool is_other = seen_[place];
    if (is_other && overlap(to, series))
      return into_.doubled.add(fmt::format("{} of {} {}: there are two series", rule.metric, node, name)),
             Result<void>();
    seen_[place] = true;
    return is_other ? join(preset, rule, series, node, to) : add(preset, rule, series, node, "", to);
  }

  static bool overlap(const CounterSeries& one, const PrometheusSeries& other) {
    if (other.points.empty()) return false;
    const auto next = std::ranges::lower_bound(one.points, other.points.front().first, {}, &CounterPoint::at);
    return next != one.points.end() && next->at <= other.points.back().first;
  }

  /// Of one port one series behind another: the device was restarted, and some of its labels are new (as
  /// ifIndex). It is another counter.
  Result<void> join(const MetricPreset& preset, const MetricRule& rule, const PrometheusSeries& series,
                    std::string_view node, CounterSeries& to) {
    const auto before = static_cast<std::ptrdiff_t>(to.points.size());
    const auto first = epoch({}, "the first series");
    for (CounterPoint& point : to.points)
      if (point.epoch == 0) point.epoch = first;
    WEFT_TRY_VOID(add(preset, rule, series, node, fmt::format("series {}", ++joined_), to));
    const auto added = to.points.begin() + before;
    if (added != to.points.end())
      std::rotate(std::upper_bound(to.points.begin(), added, added->at,
                                   [](Nanoseconds at, const CounterPoint& point) { return at < point.at; }),
                  added, to.points.end());
    return {};
  }

  /// `which`: of several of the port, each of them another counter.
  Result<void> add(const MetricPreset& preset, const MetricRule& rule, const PrometheusSeries& series,
                   std::string_view node, const std::string& which, CounterSeries& to) {
    to.narrow = rule.narrow;
    to.points.reserve(to.points.size() + series.points.size());
    to.exporter = exporter_of(series);
    const auto boots = boots_.find(node);
    for (const auto& [at, value] : series.points) {
      const auto count = count_of(value);
      if (!count) {
        into_.refused.add(fmt::format("{} of {} {}: {}", rule.metric, node, series.label(preset.port_label),
                                      count.error().message));
        continue;
      }
      const auto boot = boots == boots_.end() ? std::string() : boot_at(boots->second, at);
      WEFT_TRY_VOID(into_.add(to, {at, *count, epoch(boot, which)}));
    }
    return {};
  }

  /// The scrape target: the server itself sets these labels. A target may have metrics of several presets.
  std::uint32_t exporter_of(const PrometheusSeries& series) {
    const auto job = series.label("job"), instance = series.label("instance");
    if (exporter_ != 0 && job == job_ && instance == instance_) return exporter_;
    job_ = job, instance_ = instance;
    return exporter_ = into_.exporter(job.empty() && instance.empty() ? "prometheus"
                                                                      : fmt::format("{} {}", job, instance));
  }

  std::uint32_t epoch(const std::string& boot, const std::string& which) {
    return into_.epoch({.boot = boot, .cleared = {}, .serial = which});
  }
  /// What the scrape of that time, or the last one before it, told of; empty: nothing.
  static std::string boot_at(const std::vector<std::pair<Nanoseconds, double>>& boots, Nanoseconds at) {
    const auto after = std::ranges::upper_bound(boots, at, {}, [](const auto& each) { return each.first; });
    return after == boots.begin() ? std::string() : fmt::format("{}", std::prev(after)->second);
  }

  static constexpr std::size_t kIndexes = 33;  // none, and those of CounterKey
  const Fabric& fabric_;
  const PrometheusSource& source_;
  const AskPrometheus& ask_;
  CounterTable& into_;
  LabelledPorts ports_;
  std::vector<bool> seen_;  // of one metric: by port and index
  std::set<std::string> unplaced_;
  std::string job_, instance_;  // of the last series, whose exporter this is
  std::uint32_t exporter_ = 0, source_number_ = 0, joined_ = 0;
  std::map<std::string, std::vector<std::pair<Nanoseconds, double>>, std::less<>> boots_;
};

}  // namespace

Result<void> read_prometheus(const Fabric& fabric, const PrometheusSource& source, const AskPrometheus& ask,
                             CounterTable& into) {
  Asking asking(fabric, source, ask, into);
  for (const MetricPreset& preset : source.presets) WEFT_TRY_VOID(asking.read(preset));
  return {};
}

}  // namespace weft::counters
