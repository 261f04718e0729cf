// Families: metrics as they are put together, then written by prometheus-cpp. For this folder's .cpp files.
#pragma once

#include <prometheus/metric_family.h>

#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::metrics {

using Labels = std::vector<std::pair<std::string_view, std::string>>;

/// One metric's name; its values follow, each with labels of its own beside the fabric's.
class Family {
 public:
  Family(std::string_view fabric, prometheus::MetricFamily& family) : fabric_(fabric), family_(&family) {}
  void add(double value, const Labels& labels = {});

 private:
  std::string_view fabric_;
  prometheus::MetricFamily* family_;
};

class Families {
 public:
  explicit Families(std::string fabric) : fabric_(std::move(fabric)) {}
  Family gauge(std::string_view name, std::string_view help);
  /// `name` ends with _total.
  Family counter(std::string_view name, std::string_view help);
  /// Those without a value are left out.
  std::string text() &&;

 private:
  Family begin(std::string_view name, std::string_view help, prometheus::MetricType type);
  std::string fabric_;
  std::deque<prometheus::MetricFamily> families_;  // Family points into it
};

}  // namespace weft::metrics
