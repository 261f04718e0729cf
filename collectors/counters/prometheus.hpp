// Raw samples out of a Prometheus: range selectors, never rate() or increase(), which invent fractions and
// hide resets. What the server says is not believed: its answer is read in a stream, with bounds. Pure: who
// asks is a function.
#pragma once

#include <functional>

#include "collectors/counters/label_mapping.hpp"

namespace weft::counters {

/// The body of the server's answer to an instant query (/api/v1/query).
using AskPrometheus = std::function<Result<std::string>(const std::string& promql)>;

struct PrometheusSource {
  std::vector<MetricPreset> presets;
  std::string match = {};                         // label matchers beside, as job="switches"
  Nanoseconds window = std::chrono::minutes(10);  // how far back: some scrapes
  std::map<std::string, std::string> renames = {};
  Nanoseconds offset = {};  // the window ends that long ago
};

/// All counters of all presets. A metric that the server does not have is no error. Errors: those of `ask`;
/// invalid_input: no answer of a Prometheus, or too large a one.
Result<void> read_prometheus(const Fabric& fabric, const PrometheusSource& source, const AskPrometheus& ask,
                             CounterTable& into);

}  // namespace weft::counters
