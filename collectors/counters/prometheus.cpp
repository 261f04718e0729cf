#include "collectors/counters/prometheus.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "topology/base/outside_text.hpp"
#include "topology/base/whole_number.hpp"

namespace weft::counters {
namespace {

constexpr std::size_t kMaxLabels = 64;
constexpr std::size_t kMaxLabel = 1024;
constexpr std::size_t kMaxSeriesPoints = 1'000'000;
constexpr int kMaxDepth = 32;
constexpr double kMaxTime = 9e9;  // seconds since 1970: 64 bits of nanoseconds end in 2262

/// The events of {"status", "error", "data": {"resultType", "result": [{"metric": {}, "values": [[t,
/// "v"]]}]}}.
class MatrixReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit MatrixReader(const std::function<Result<void>(const PrometheusSeries&)>& take) : take_(take) {}

  Result<void> result() const {
    if (failed_) return tl::unexpected<Error>(*failed_);
    if (!error_.empty())
      return fail(ErrorKind::invalid_input, "the server refuses: {}",
                  outside_text(error_.substr(0, kMaxLabel)));
    if (!is_success_ || !is_matrix_) return refuse("no answer of a Prometheus");
    return {};
  }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t value) override { return number(static_cast<double>(value)); }
  bool number_unsigned(number_unsigned_t value) override { return number(static_cast<double>(value)); }
  bool number_float(number_float_t value, const string_t&) override { return number(value); }
  bool binary(binary_t&) override { return true; }
  bool key(string_t& name) override {
    if (depth_ < std::ssize(keys_)) keys_[static_cast<std::size_t>(depth_)] = name.substr(0, kMaxLabel);
    return true;
  }
  bool start_object(std::size_t) override {
    if (++depth_ == 4 && in_result()) series_ = {};
    return depth_ <= kMaxDepth || stop("it is nested deeper than any");
  }
  bool end_object() override {
    if (depth_-- != 4 || !in_result()) return true;
    if (const auto taken = take_(series_); !taken) {
      failed_ = taken.error();
      return false;
    }
    return true;
  }
  bool start_array(std::size_t) override {
    if (++depth_ == 6) time_.reset();
    return depth_ <= kMaxDepth || stop("it is nested deeper than any");
  }
  bool end_array() override { return --depth_, true; }

  bool string(string_t& text) override {
    if (depth_ == 1 && keys_[1] == "status") is_success_ = text == "success";
    if (depth_ == 1 && keys_[1] == "error") error_ = text;
    if (depth_ == 2 && keys_[1] == "data" && keys_[2] == "resultType") is_matrix_ = text == "matrix";
    if (!in_result()) return true;
    if (depth_ == 5 && keys_[4] == "metric") {
      if (series_.labels.size() >= kMaxLabels) return stop("a series has more labels than any");
      series_.labels[keys_[5]] = text.substr(0, kMaxLabel);
    }
    return depth_ != 6 || keys_[4] != "values" || add_point(text);
  }
  bool parse_error(std::size_t at, const std::string&, const nlohmann::detail::exception&) override {
    return stop(fmt::format("it is no JSON at byte {}", at));
  }

 private:
  static tl::unexpected<Error> refuse(std::string_view why) {
    return fail(ErrorKind::invalid_input, "the answer of the server cannot be used: {}", why);
  }
  bool stop(std::string_view why) { return failed_ = refuse(why).value(), false; }
  bool in_result() const { return keys_[1] == "data" && keys_[2] == "result"; }

  bool number(double value) {
    if (depth_ == 6 && in_result() && keys_[4] == "values") time_ = value;
    return true;
  }

  bool add_point(const std::string& text) {
    double value = std::nan("");
    const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (bad != std::errc() || end != text.data() + text.size()) value = std::nan("");
    if (!time_ || !(*time_ > 0 && *time_ < kMaxTime)) return stop("a sample has no time");
    if (series_.points.size() >= kMaxSeriesPoints) return stop("a series has more samples than any");
    const auto milliseconds = static_cast<std::int64_t>(std::llround(*time_ * 1e3));  // all that it has
    series_.points.emplace_back(std::chrono::milliseconds(milliseconds), value);
    return true;
  }

  const std::function<Result<void>(const PrometheusSeries&)>& take_;
  std::array<std::string, 7> keys_{};  // the last name at each depth
  int depth_ = 0;
  PrometheusSeries series_;
  std::optional<double> time_;
  std::string error_;
  bool is_success_ = false, is_matrix_ = false;
  std::optional<Error> failed_;
};

std::string label(const PrometheusSeries& series, std::string_view name) {
  const auto found = series.labels.find(name);
  return found == series.labels.end() ? std::string() : found->second;
}

class Asking {
 public:
  Asking(const Fabric& fabric, const PrometheusSource& source, const AskPrometheus& ask, CounterTable& into)
      : source_(source), ask_(ask), into_(into), ports_(fabric, source.renames) {}

  Result<void> read(const MetricPreset& preset) {
    boots_.clear();
    if (!preset.boot_metric.empty())
      WEFT_TRY_VOID(query({.metric = preset.boot_metric}, [&](const PrometheusSeries& series) {
        boots_[label(series, preset.node_label)] = series.points;
        return Result<void>();
      }));
    for (const MetricRule& rule : preset.rules) {
      seen_.clear();
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
    WEFT_TRY(const auto answer, ask_(promql));
    const std::function<Result<void>(const PrometheusSeries&)> taken = take;
    const auto done = read_matrix(answer, taken);
    return done ? done : pass_on(done, rule.metric);
  }

  Result<void> take(const MetricPreset& preset, const MetricRule& rule, const PrometheusSeries& series) {
    const auto node = label(series, preset.node_label), name = label(series, preset.port_label);
    const auto port = ports_.find(node, name);
    if (!port) {
      const auto words = fmt::format("{} {}: {}", node, name, port.error().message);
      if (unplaced_.insert(words).second) into_.unplaced.add(words);
      return {};
    }
    CounterKey key = rule.key;
    if (!rule.index_label.empty()) {
      key.index = parse_whole_number<std::uint8_t>(label(series, rule.index_label));
      if (!key.index || !parse_counter_key(to_string(key)))
        return into_.refused.add(fmt::format("{} of {} {}: '{}' is no index", rule.metric, node, name,
                                             label(series, rule.index_label))),
               Result<void>();
    }
    if (!seen_.insert({*port, key}).second)
      return into_.doubled.add(fmt::format("{} of {} {}: there are two series", rule.metric, node, name)),
             Result<void>();
    return add(preset, rule, series, node, into_.at(*port, key, into_.source(preset.name)));
  }

  Result<void> add(const MetricPreset& preset, const MetricRule& rule, const PrometheusSeries& series,
                   const std::string& node, CounterSeries& to) {
    to.narrow = rule.narrow;
    const auto boots = boots_.find(node);
    for (const auto& [at, value] : series.points) {
      const auto count = count_of(value);
      if (!count) {
        into_.refused.add(fmt::format("{} of {} {}: {}", rule.metric, node, label(series, preset.port_label),
                                      count.error().message));
        continue;
      }
      WEFT_TRY_VOID(into_.add(to, {at, *count, boots == boots_.end() ? 0 : epoch(boots->second, at)}));
    }
    return {};
  }

  /// Of the boot that the scrape of that time, or the last one before it, told of.
  std::uint32_t epoch(const std::vector<std::pair<Nanoseconds, double>>& boots, Nanoseconds at) {
    const auto after = std::ranges::upper_bound(boots, at, {}, [](const auto& each) { return each.first; });
    if (after == boots.begin()) return 0;
    return into_.epoch({.boot = fmt::format("{}", std::prev(after)->second), .cleared = {}, .serial = {}});
  }

  const PrometheusSource& source_;
  const AskPrometheus& ask_;
  CounterTable& into_;
  LabelledPorts ports_;
  std::set<std::pair<PortId, CounterKey>> seen_;  // of one metric
  std::set<std::string> unplaced_;
  std::map<std::string, std::vector<std::pair<Nanoseconds, double>>> boots_;
};

}  // namespace

Result<void> read_matrix(std::string_view answer,
                         const std::function<Result<void>(const PrometheusSeries&)>& take) {
  MatrixReader reader(take);
  static_cast<void>(nlohmann::json::sax_parse(answer, &reader));
  return reader.result();
}

Result<void> read_prometheus(const Fabric& fabric, const PrometheusSource& source, const AskPrometheus& ask,
                             CounterTable& into) {
  Asking asking(fabric, source, ask, into);
  for (const MetricPreset& preset : source.presets) WEFT_TRY_VOID(asking.read(preset));
  return {};
}

}  // namespace weft::counters
