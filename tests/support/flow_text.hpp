// A demand as the text of a flow file, which demand::read_flows reads back.
#pragma once

#include <string>

#include "balancer/demand/demand.hpp"
#include "topology/files/json_text.hpp"
#include "topology/model/fabric.hpp"

namespace weft::demand {

inline std::string write_flows(const Fabric& fabric, const Demand& demand) {
  files::JsonText text;
  for (std::size_t phase = 0; phase < demand.phases.size(); ++phase)
    for (const Flow& flow : demand.phases[phase].flows) {
      files::put(text, "{{\"bytes\":{},\"dst\":", flow.bytes.count());
      files::put_string(text, fabric.name_of_nic(flow.dst));
      if (demand.phases.size() > 1) files::put(text, ",\"phase\":{}", phase + 1);
      files::put(text, ",\"src\":");
      files::put_string(text, fabric.name_of_nic(flow.src));
      files::put(text, "}}\n");
    }
  return fmt::to_string(text);
}

}  // namespace weft::demand
