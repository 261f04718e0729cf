// The paths of a label where switches route adaptively. Such a switch picks the least loaded port of a group
// that the subnet manager gave it for that LID. The groups themselves are not read: a switch is taken to use
// every port that leads on by the fewest hops (the groups that NVIDIA's subnet manager makes on trees, its
// default), and the port of its table. On a tree the set may thus be too large, not too small; a Dragonfly's
// groups hold detours too, which are not known. Fabric and tables must outlive it; not thread-safe.
#pragma once

#include "topology/routing/forwarding_tables.hpp"
#include "topology/routing/shortest_paths.hpp"

namespace weft::routing {

struct LabelPaths {
  RouteEnd end = RouteEnd::no_entry;          // of the way that the tables alone give
  std::vector<std::vector<ChannelId>> paths;  // those that arrive; empty where `end` is not arrived
  bool too_many = false;                      // more than kMaxPathsOfLabel: none is listed
};
inline constexpr std::size_t kMaxPathsOfLabel = 1024;

class AdaptiveRoutes {
 public:
  AdaptiveRoutes(const Fabric& fabric, const ForwardingTables& tables)
      : fabric_(&fabric), tables_(&tables), ways_(fabric) {}

  /// Precondition: a NIC of the fabric.
  LabelPaths walk(PortId source, Lid lid);

 private:
  struct Search;
  void descend(Search& search, ForwardingTables::Behind next);
  bool came_through(std::span<const ChannelId> way, NodeId node) const;

  const Fabric* fabric_;
  const ForwardingTables* tables_;
  ShortestPathCache ways_;
};

}  // namespace weft::routing
