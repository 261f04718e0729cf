#include "collectors/report/audit_json.hpp"

#include "topology/files/json_text.hpp"

namespace weft {
namespace {

void put_way(JsonText& out, const Fabric& fabric, const PathTable& table, PathSetId set, std::size_t count) {
  put(out, "\n{{\"queue_pairs\":{},\"paths\":", count);
  put_array(out, table.paths(set), [&](PathId path) {
    put_array(out, table.channels(path),
              [&](ChannelId channel) { put_string(out, fabric.name_of(channel)); });
  });
  put(out, "}}");
}

/// Two members, ports and ways.
void put_spread(JsonText& out, const Fabric& fabric, const PathTable& table, const QpSpread& spread) {
  put(out, "\"ports\":");
  put_array(out, spread.ports, [&](const auto& port) {
    put(out, "{{\"port\":{},\"queue_pairs\":{}}}", port.first.value(), port.second);
  });
  put(out, ",\n\"ways\":");
  put_array(out, spread.paths, [&](const auto& way) { put_way(out, fabric, table, way.first, way.second); });
}

void put_words(JsonText& out, const char* name, const std::map<std::string, std::size_t>& counts) {
  put_array(out, counts, [&](const auto& said) {
    put(out, "{{\"{}\":", name);
    put_string(out, said.first);
    put(out, ",\"queue_pairs\":{}}}", said.second);
  });
}

void put_move(JsonText& out, const Fabric& fabric, const PathTable& table, const LiveMove& move) {
  put(out, ",\n\"move\":{{\"moved\":{},\"to_another_path\":{},\n\"manners\":", move.moved,
      move.to_another_path);
  put_words(out, "manner", move.manners);
  put(out, ",\n\"failures\":");
  put_words(out, "why", move.failures);
  put(out, ",\n");
  put_spread(out, fabric, table, move.after);
  put(out, "}}");
}

}  // namespace

std::string audit_json(const Fabric& fabric, const PathTable& table, const Audit& audit,
                       const DocumentStamp& stamp) {
  JsonText out;
  put(out, "{{");
  put_stamp(out, "weft.audit/1", stamp);
  put(out, ",\n\"fabric\":");
  put_string(out, fabric.name());
  put(out, ",\n\"src\":\"{}\",\"dst\":\"{}\",\"queue_pairs\":{},\n", fabric.name_of_nic(audit.src),
      fabric.name_of_nic(audit.dst), audit.queue_pairs);
  put_spread(out, fabric, table, audit.spread);
  if (audit.move) put_move(out, fabric, table, *audit.move);
  put(out, "}}\n");
  return fmt::to_string(out);
}

}  // namespace weft
