// The agents of a lab: one process in each host's namespace, ended with the object.
#pragma once

#include <vector>

#include "cli/scratch_directory.hpp"
#include "collectors/bus/nats_bus.hpp"
#include "probes/session/coordinator.hpp"
#include "topology/lab/lab.hpp"

namespace weft {

class LabAgents {
 public:
  /// Starts one on each of `hosts`; their stderr goes to files in a scratch directory.
  static Result<LabAgents> start(const Lab& lab, const std::vector<NodeId>& hosts, const NatsAddress& bus,
                                 RunId run);

 private:
  LabAgents(ScratchDirectory logs, std::vector<ChildProcess> agents)
      : logs_(std::move(logs)), agents_(std::move(agents)) {}
  ScratchDirectory logs_;
  std::vector<ChildProcess> agents_;
};

/// What the coordinator expects of these hosts of a lab.
std::vector<ExpectedHost> expected_hosts(const Lab& lab, const std::vector<NodeId>& hosts);

}  // namespace weft
