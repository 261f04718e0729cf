// SwitchGraph: the switches of a fabric and the channels between them, packed for walking. Hosts do not
// forward, so they are no part of it. Switches are numbered 0 ... switch_count() - 1 in the order of their
// node ids.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "topology/model/fabric.hpp"

namespace weft {

using SwitchIndex = Strong<struct SwitchIndexTag>;

/// A channel to a neighbouring switch.
struct SwitchEdge {
  ChannelId channel;
  SwitchIndex to;
};

class SwitchGraph {
 public:
  explicit SwitchGraph(const Fabric& fabric);

  std::size_t switch_count() const { return offsets_.size() - 1; }
  std::optional<SwitchIndex> index_of(NodeId node) const { return index_[node.value()]; }
  /// The channels that leave a switch for another, in the order of its ports.
  std::span<const SwitchEdge> edges(SwitchIndex from) const {
    return std::span(edges_).subspan(offsets_[from.value()],
                                     offsets_[from.value() + 1] - offsets_[from.value()]);
  }

 private:
  std::vector<std::optional<SwitchIndex>> index_;  // by node
  std::vector<std::uint32_t> offsets_{0};
  std::vector<SwitchEdge> edges_;
};

}  // namespace weft
