// Any bytes as the answer of a Prometheus to every query; and what is read of right JSON is what a document
// of it has.
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "collectors/counters/prometheus.hpp"
#include "collectors/counters/prometheus_answer.hpp"
#include "topology/base/json_limits.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/model/clos.hpp"

namespace {

using namespace weft;
using nlohmann::json;

void read_all(const std::string& answer) {
  static const Fabric fabric = make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 2}).value();
  counters::CounterTable table;
  const auto read = counters::read_prometheus(
      fabric, {.presets = {counters::metric_presets().front()}},
      [&](const std::string&) { return Result<std::string>(answer); }, table);
  if (!read && !is_harmless(read.error().message)) std::abort();
  for (const auto* remarks : {&table.unplaced, &table.doubled, &table.refused})
    for (const auto& remark : remarks->first)
      if (!is_harmless(remark)) std::abort();
}

/// Null where the document has no such series; of two members of a name it has the last, so none then.
const json* series_in(const json& document, std::size_t at) {
  const auto data = document.find("data");
  if (data == document.end() || !data->is_object() || !data->contains("result")) return nullptr;
  const json& result = (*data)["result"];
  return result.is_array() && at < result.size() && result[at].is_object() ? &result[at] : nullptr;
}

void read_as_document(std::string_view text) {
  std::vector<std::map<std::string, std::string>> labels;
  std::vector<std::size_t> points;
  const auto read = counters::read_matrix(text, [&](const counters::PrometheusSeries& one) {
    auto& its = labels.emplace_back();
    for (const auto& [name, value] : one.labels) its.emplace(name, value);
    points.push_back(one.points.size());
    return Result<void>();
  });
  if (!read) {
    if (!is_harmless(read.error().message)) std::abort();
    return;
  }
  if (!check_json_limits(text, {.bytes = 1 << 20, .depth = 64, .values = 100'000})) return;
  std::size_t members = 0;
  const json document = json::parse(
      text,
      [&](int, json::parse_event_t event, json&) {
        return members += event == json::parse_event_t::key, true;
      },
      false);
  if (document.is_discarded()) return;  // what is passed over need not be right
  std::size_t different = 0;            // members of a document, each name once
  const std::function<void(const json&)> count = [&](const json& value) {
    if (value.is_object()) different += value.size();
    for (const json& inner : value)
      if (inner.is_structured()) count(inner);
  };
  if (document.is_structured()) count(document);
  if (different != members) return;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const json* const one = series_in(document, i);
    if (one == nullptr) std::abort();
    if (points[i] > 0 && (*one)["values"].size() != points[i]) std::abort();
    for (const auto& [name, value] : labels[i])
      if (name.size() < 1024 && value.size() < 1024 && (*one)["metric"][name] != json(value)) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  read_all(std::string(text));
  read_as_document(text);
  return 0;
}
