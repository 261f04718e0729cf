#include "collectors/report/audit.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "collectors/report/path_table.hpp"
#include "topology/files/json_text.hpp"

namespace weft {
namespace {

std::string path_rows(const Fabric& fabric, const PathTable& table, const Audit& audit) {
  std::string text;
  for (const auto& [set, count] : audit.paths) {
    const auto paths = table.paths(set);
    if (paths.size() > 1) text += fmt::format("one of {} paths:\n", paths.size());
    for (const PathId path : paths)
      text += fmt::format("  {:>4} queue pair{} {}\n", count, count == 1 ? " " : "s",
                          path_chain(fabric, table.channels(path)));
  }
  const auto busiest =
      std::ranges::max_element(audit.paths, {}, [](const auto& user) { return user.second; });
  return text + fmt::format("the busiest path carries {}; spread evenly it would be {:.1f}\n",
                            busiest->second,
                            static_cast<double>(audit.queue_pairs) / static_cast<double>(audit.paths.size()));
}

void put_way(JsonText& out, const Fabric& fabric, const PathTable& table, PathSetId set, std::size_t count) {
  put(out, "\n{{\"queue_pairs\":{},\"paths\":", count);
  put_array(out, table.paths(set), [&](PathId path) {
    put_array(out, table.channels(path),
              [&](ChannelId channel) { put_string(out, fabric.name_of(channel)); });
  });
  put(out, "}}");
}

}  // namespace

Audit audit_of(PortId src, PortId dst, const PathLearner& learner, const std::vector<PathLabel>& chosen) {
  Audit audit{src, dst, chosen.size(), {}, {}};
  for (const PathLabel label : chosen) ++audit.ports[label];
  const PairRoutes* pair = learner.find(src, dst);
  if (pair == nullptr) return audit;
  for (const Route& route : pair->routes) {
    const auto port = audit.ports.find(route.label);
    audit.paths[route.paths] += port == audit.ports.end() ? 0 : port->second;
  }
  return audit;
}

std::string audit_table(const Fabric& fabric, const PathTable& table, const Audit& audit) {
  if (audit.queue_pairs == 0) return "no queue pair told which port it uses\n";
  const std::size_t ports = audit.ports.size();
  auto text = fmt::format("{} queue pair{} with default settings use {} port{}\n", audit.queue_pairs,
                          audit.queue_pairs == 1 ? "" : "s", ports, ports == 1 ? "" : "s");
  return audit.paths.empty() ? text : text + path_rows(fabric, table, audit);
}

std::string audit_json(const Fabric& fabric, const PathTable& table, const Audit& audit,
                       const DocumentStamp& stamp) {
  JsonText out;
  put(out, "{{");
  put_stamp(out, "weft.audit/1", stamp);
  put(out, ",\n\"fabric\":");
  put_string(out, fabric.name());
  put(out, ",\n\"src\":\"{}\",\"dst\":\"{}\",\"queue_pairs\":{},\n\"ports\":", fabric.name_of_nic(audit.src),
      fabric.name_of_nic(audit.dst), audit.queue_pairs);
  put_array(out, audit.ports, [&](const auto& port) {
    put(out, "{{\"port\":{},\"queue_pairs\":{}}}", port.first.value(), port.second);
  });
  put(out, ",\n\"ways\":");
  put_array(out, audit.paths, [&](const auto& way) { put_way(out, fabric, table, way.first, way.second); });
  put(out, "}}\n");
  return fmt::to_string(out);
}

}  // namespace weft
