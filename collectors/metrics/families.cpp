#include "collectors/metrics/families.hpp"

#include <prometheus/text_serializer.h>

namespace weft::metrics {

void Family::add(double value, const Labels& labels) {
  prometheus::ClientMetric metric;
  metric.label.reserve(labels.size() + 1);
  metric.label.push_back({"fabric", std::string(fabric_)});
  for (const auto& [name, of] : labels) metric.label.push_back({std::string(name), of});
  if (family_->type == prometheus::MetricType::Counter)
    metric.counter.value = value;
  else
    metric.gauge.value = value;
  family_->metric.push_back(std::move(metric));
}

Family Families::begin(std::string_view name, std::string_view help, prometheus::MetricType type) {
  auto& family = families_.emplace_back();
  family.name = name;
  family.help = help;
  family.type = type;
  return {fabric_, family};
}

Family Families::gauge(std::string_view name, std::string_view help) {
  return begin(name, help, prometheus::MetricType::Gauge);
}
Family Families::counter(std::string_view name, std::string_view help) {
  return begin(name, help, prometheus::MetricType::Counter);
}

std::string Families::text() && {
  std::vector<prometheus::MetricFamily> filled;
  for (auto& family : families_)
    if (!family.metric.empty()) filled.push_back(std::move(family));
  return prometheus::TextSerializer().Serialize(filled);
}

}  // namespace weft::metrics
