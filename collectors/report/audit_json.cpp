#include "collectors/report/audit_json.hpp"

#include "topology/files/json_text.hpp"
#include "topology/model/fabric.hpp"

namespace weft::report {
namespace {

void put_way(files::JsonText& out, const Fabric& fabric, const PathTable& table, PathSetId set,
             std::size_t count) {
  files::put(out, "\n{{\"queue_pairs\":{},\"paths\":", count);
  files::put_array(out, table.paths(set), [&](PathId path) {
    files::put_array(out, table.channels(path),
                     [&](ChannelId channel) { files::put_string(out, fabric.name_of(channel)); });
  });
  files::put(out, "}}");
}

/// Two members, ports and ways.
void put_spread(files::JsonText& out, const Fabric& fabric, const PathTable& table, const QpSpread& spread) {
  files::put(out, "\"ports\":");
  files::put_array(out, spread.ports, [&](const auto& port) {
    files::put(out, "{{\"port\":{},\"queue_pairs\":{}}}", port.first.value(), port.second);
  });
  files::put(out, ",\n\"ways\":");
  files::put_array(out, spread.paths,
                   [&](const auto& way) { put_way(out, fabric, table, way.first, way.second); });
}

void put_words(files::JsonText& out, const char* name, const std::map<std::string, std::size_t>& counts) {
  files::put_array(out, counts, [&](const auto& said) {
    files::put(out, "{{\"{}\":", name);
    files::put_string(out, said.first);
    files::put(out, ",\"queue_pairs\":{}}}", said.second);
  });
}

void put_move(files::JsonText& out, const Fabric& fabric, const PathTable& table, const LiveMove& move) {
  files::put(out, ",\n\"move\":{{\"moved\":{},\"to_another_path\":{},\n\"manners\":", move.moved,
             move.to_another_path);
  put_words(out, "manner", move.manners);
  files::put(out, ",\n\"failures\":");
  put_words(out, "why", move.failures);
  files::put(out, ",\n");
  put_spread(out, fabric, table, move.after);
  files::put(out, "}}");
}

}  // namespace

std::string audit_json(const Fabric& fabric, const PathTable& table, const Audit& audit,
                       const files::DocumentStamp& stamp) {
  files::JsonText out;
  files::put(out, "{{");
  put_stamp(out, "weft.audit/1", stamp);
  files::put(out, ",\n\"fabric\":");
  files::put_string(out, fabric.name());
  files::put(out, ",\n\"src\":\"{}\",\"dst\":\"{}\",\"queue_pairs\":{},\n", fabric.name_of_nic(audit.src),
             fabric.name_of_nic(audit.dst), audit.queue_pairs);
  put_spread(out, fabric, table, audit.spread);
  if (audit.move) put_move(out, fabric, table, *audit.move);
  files::put(out, "}}\n");
  return fmt::to_string(out);
}

}  // namespace weft::report
