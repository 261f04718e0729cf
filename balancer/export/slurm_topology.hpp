// The network as Slurm's topology/tree knows it, so that jobs are placed near together: groups of nodes under
// switches, switches under switches. A fabric of many paths is no tree: what is joined at a tier, by however
// many switches, is one switch here. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "topology/base/result.hpp"
#include "topology/model/fabric.hpp"

namespace weft::exports {

/// Has nodes, or switches below it.
struct SlurmSwitch {
  std::string name;  // of the switches that it stands for: `leaf3`, `spine1-spine8`
  std::vector<std::string> nodes{}, switches{};
  friend bool operator==(const SlurmSwitch&, const SlurmSwitch&) = default;
};

struct SlurmTopology {
  std::vector<SlurmSwitch> switches;     // each behind those below it
  std::vector<std::string> roots;        // more than one: no job spans two of them
  std::vector<std::string> unconnected;  // hosts without a cable: no job can be given them
};

/// `nodes`: those that Slurm has; hosts that it does not have are left out. Absent: all hosts. Errors:
/// invalid_input, a node that is no host of the fabric, or none is left; usage, a name that Slurm would read
/// otherwise.
Result<SlurmTopology> slurm_topology(const Fabric& fabric,
                                     const std::optional<std::vector<std::string>>& nodes);

/// As topology.conf(5) has it; Slurm 22.05 and later.
std::string topology_conf(const SlurmTopology& topology);
/// As topology.yaml(5) has it; Slurm 25.05 and later.
std::string topology_yaml(const SlurmTopology& topology);

}  // namespace weft::exports
