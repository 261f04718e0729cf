// What the parts of the lab know of each other: a Lab from its state, and how far it got.
#pragma once

#include "topology/lab/netns/lab_control.hpp"
#include "topology/lab/netns/state.hpp"

namespace weft {

struct LabAccess {
  /// Joins nothing and asks the kernel nothing.
  static Result<Lab> describe(const LabState& state, const std::filesystem::path& state_root);
};

/// Where the lab stands, by its state file and what the kernel still holds of it.
LabPhase phase_of(const LabState& state, const std::filesystem::path& state_root);

/// The lab's namespaces' files: the management network's first, then the nodes' in their order.
std::vector<std::filesystem::path> namespace_files(const LabState& state,
                                                   const std::filesystem::path& state_root);

/// Takes away all of a lab but its state file. With the StateLock held.
Result<void> clear_kernel(const LabState& state, const std::filesystem::path& state_root);

}  // namespace weft
