// Where the queue pairs of a job lie on its fabric: their NICs, and the paths of their labels. Pure.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "collectors/nccl/qp_table.hpp"
#include "topology/model/addressing.hpp"

namespace weft {
class Fabric;
}

namespace weft::nccl {

/// What the queue pairs' paths are found by.
struct JobFabric {
  const Fabric* fabric = nullptr;
  const PathMap* paths = nullptr;  // null: of paths only what the tables say
  const AddressBook* addresses = nullptr;
};

class QpPlaces {
 public:
  /// `in` must stay, and all that it points to.
  explicit QpPlaces(const JobFabric& in);

  std::optional<PortId> nic(const QpRecord& qp) const { return nic_of(qp.nic, qp.gid); }
  std::optional<PortId> peer_nic(const QpRecord& qp) const { return nic_of(qp.peer_nic, qp.peer_gid); }

  /// The paths (of JobFabric::paths) that packets of a label take between two NICs; all of the pair's where
  /// the label is not known or none of them has it. Empty: the map does not have the pair.
  std::vector<PathId> paths(PortId src, PortId dst, const std::optional<PathLabel>& label) const;

  /// The channels of its one path by name; empty where its NICs, its label or their path are not known, or
  /// the label takes several.
  std::vector<std::string> path_names(const QpRecord& qp) const;

 private:
  std::optional<PortId> nic_of(const std::string& name, const std::optional<IpAddress>& gid) const;

  JobFabric in_;
  std::unordered_map<std::uint64_t, const PairPaths*> pairs_;
  std::unordered_map<Guid, PortId> by_guid_;
};

}  // namespace weft::nccl
