#include "collectors/report/audit.hpp"

#include <vector>

namespace weft::report {
namespace {

std::map<PathLabel, PathSetId> paths_of(const plan::PairRoutes* pair) {
  std::map<PathLabel, PathSetId> paths;
  if (pair != nullptr)
    for (const plan::Route& route : pair->routes) paths.emplace(route.label, route.paths);
  return paths;
}

QpSpread spread_of(const std::map<PathLabel, PathSetId>& paths, const std::vector<PathLabel>& labels) {
  QpSpread spread;
  for (const PathLabel label : labels) ++spread.ports[label];
  for (const auto& [label, path] : paths) {
    const auto port = spread.ports.find(label);
    spread.paths[path] += port == spread.ports.end() ? 0 : port->second;
  }
  return spread;
}

std::string why_not_moved(const datapath::AuditedQp& qp) {
  if (!qp.then) return "no label is known to take one path and reach the peer";
  if (!qp.change) return qp.error.value_or("the run ended before");
  if (!qp.change->done) return qp.change->how;
  return "moved, then broke: " + qp.error.value_or("");
}

}  // namespace

Audit audit_of(PortId src, PortId dst, const plan::PathLearner& learner,
               std::span<const datapath::AuditedQp> qps) {
  std::vector<PathLabel> labels;
  for (const datapath::AuditedQp& qp : qps) labels.push_back(qp.chosen);
  return {src, dst, qps.size(), spread_of(paths_of(learner.find(src, dst)), labels)};
}

LiveMove move_of(PortId src, PortId dst, const plan::PathLearner& learner,
                 std::span<const datapath::AuditedQp> qps) {
  const auto paths = paths_of(learner.find(src, dst));
  const auto path_of = [&](PathLabel label) {
    const auto found = paths.find(label);
    return found == paths.end() ? std::nullopt : std::optional(found->second);
  };
  LiveMove move;
  std::vector<PathLabel> labels;
  for (const datapath::AuditedQp& qp : qps) {
    if (!qp.has_moved()) {
      ++move.failures[why_not_moved(qp)];
      if (!qp.error) labels.push_back(qp.chosen);
      continue;
    }
    ++move.moved;
    ++move.manners[qp.change->how];
    const auto before = path_of(qp.chosen);
    const auto after = path_of(*qp.then);
    move.to_another_path += before && after && before != after ? 1 : 0;
    labels.push_back(*qp.then);
  }
  move.after = spread_of(paths, labels);
  return move;
}

}  // namespace weft::report
