#include "topology/routing/switch_graph.hpp"

namespace weft {

SwitchGraph::SwitchGraph(const Fabric& fabric) : index_(fabric.node_count()) {
  std::uint32_t next = 0;
  for (std::uint32_t n = 0; n < fabric.node_count(); ++n)
    if (!fabric.is_host(NodeId(n))) index_[n] = SwitchIndex(next++);
  for (std::uint32_t n = 0; n < fabric.node_count(); ++n) {
    if (!index_[n]) continue;
    for (const PortId port : fabric.ports_of(NodeId(n)))
      if (const auto channel = fabric.channel_from(port))
        if (const auto to = index_[fabric.target_node(*channel).value()]) edges_.push_back({*channel, *to});
    offsets_.push_back(static_cast<std::uint32_t>(edges_.size()));
  }
}

}  // namespace weft
