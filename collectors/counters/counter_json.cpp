#include "collectors/counters/counter_json.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "topology/base/instant.hpp"
#include "topology/files/json_text.hpp"

namespace weft::counters {
namespace {

using files::DocumentTree;

DocumentTree names_tree(const Fabric& fabric, const std::vector<PortId>& ports) {
  DocumentTree names = DocumentTree::array();
  for (const PortId port : ports) names.push_back(fabric.name_of(port));
  return names;
}

DocumentTree remarks_tree(const Remarks& remarks) {
  return {{"count", remarks.count}, {"first", remarks.first}};
}

DocumentTree left_out_tree(const StepsLeftOut& left) {
  return {{"restarted", left.restarted},       {"went_back", left.went_back},
          {"stood_still", left.stood_still},   {"saturated", left.saturated},
          {"contradicted", left.contradicted}, {"too_long", left.too_long},
          {"impossible", left.impossible},     {"training", left.training}};
}

DocumentTree trend_tree(const CorrectedTrend& trend) {
  DocumentTree tree{{"bit_error_rate", std::pow(10, trend.now)},
                    {"decades_a_day", trend.a_day},
                    {"decades_above_usual", trend.now - trend.usual},
                    {"since", instant_text(trend.since)}};
  if (!trend.loss) return tree;
  tree["days_to_loss"] = trend.loss->days;
  tree["days_to_loss_low"] = trend.loss->low;
  if (trend.loss->high) tree["days_to_loss_high"] = *trend.loss->high;
  return tree;
}

}  // namespace

std::string check_json(const Fabric& fabric, const CounterTable& table, const CounterCheck& check,
                       const files::DocumentStamp& stamp) {
  DocumentTree json = files::stamped_tree("weft.counter_check/1", stamp);
  json["fabric"] = fabric.name();
  json["all_is_well"] = all_is_well(table, check);
  json["ports"] = check.ports;
  auto& sources = json["sources"] = DocumentTree::array();
  for (const SourceCheck& one : check.sources) {
    DocumentTree counters = DocumentTree::object();
    for (const auto& [counter, ports] : one.ports) counters[std::string(to_string(counter))] = ports;
    sources.push_back({{"source", one.source},
                       {"ports", one.ports_in_all},
                       {"ports_with_window", one.with_window},
                       {"counters", std::move(counters)}});
  }
  json["without"] = names_tree(fabric, check.without);
  json["of_one_exporter"] = check.of_one_exporter;
  json["steps_left_out"] = left_out_tree(check.left_out);
  json["troubles"] = check.troubles;
  json["unplaced"] = remarks_tree(table.unplaced);
  json["doubled"] = remarks_tree(table.doubled);
  json["refused"] = remarks_tree(table.refused);
  return files::document_text(json);
}

std::string trends_json(const Fabric& fabric, const CounterTable& table, const PortTrends& found,
                        const files::DocumentStamp& stamp, double limit) {
  DocumentTree json = files::stamped_tree("weft.port_trends/1", stamp);
  json["fabric"] = fabric.name();
  json["ports"] = found.told;
  json["limit"] = std::pow(10, limit);
  auto& degrading = json["degrading"] = DocumentTree::array();
  for (const auto& [port, source, trend, beside_peers, tail] : found.trends) {
    if (!trend.degrading) break;
    DocumentTree row{{"port", fabric.name_of(port)}, {"source", table.source_name(source)}};
    row.update(trend_tree(trend));
    row["decades_above_peers"] = beside_peers;
    row["decades_to_limit"] = limit - trend.now;
    if (tail)
      row["histogram"] = {{"highest_bin", tail->highest},
                          {"decades_a_bin", tail->slope},
                          {"unrepaired_share_low", std::pow(10, tail->low)},
                          {"unrepaired_share", std::pow(10, tail->loss)},
                          {"unrepaired_share_high", std::pow(10, tail->high)}};
    degrading.push_back(std::move(row));
  }
  auto& above = json["above_limit"] = DocumentTree::array();
  for (const PortTrend& one : above_limit(found, limit))
    above.push_back({{"port", fabric.name_of(one.port)},
                     {"source", table.source_name(one.source)},
                     {"bit_error_rate", std::pow(10, one.trend.now)},
                     {"decades_above_limit", one.trend.now - limit}});
  auto& losing = json["losing"] = DocumentTree::array();
  for (const auto& [port, source, lost] : found.losses)
    losing.push_back({{"port", fabric.name_of(port)},
                      {"source", table.source_name(source)},
                      {"codewords_in_a_day", lost}});
  return files::document_text(json);
}

std::string pauses_json(const Fabric& fabric, const PortPauses& pauses, const files::DocumentStamp& stamp) {
  DocumentTree json = files::stamped_tree("weft.pauses/1", stamp);
  json["fabric"] = fabric.name();
  json["from"] = instant_text(pauses.from);
  json["to"] = instant_text(pauses.to);
  auto& all = json["priorities"] = DocumentTree::array();
  for (const auto& [priority, ports] : pauses.by_priority) {
    DocumentTree row = DocumentTree::object();
    if (priority) row["priority"] = *priority;
    auto& origins = row["origins"] = DocumentTree::array();
    for (const PauseOrigin& one : pause_origins(fabric, ports))
      origins.push_back({{"cause", to_string(one.cause)},
                         {"ports", names_tree(fabric, one.ports)},
                         {"frames", one.sent},
                         {"stopped", names_tree(fabric, one.stopped)}});
    all.push_back(std::move(row));
  }
  return files::document_text(json);
}

}  // namespace weft::counters
