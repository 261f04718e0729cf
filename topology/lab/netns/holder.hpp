// The holder of an ordinary user's lab: a process that does nothing but keep a user, a mount and a network
// namespace in which the user may do what root does, and in which the lab is built.
#pragma once

#include "topology/os/processes.hpp"

namespace weft::lab {

/// True when the caller may make network namespaces and mount them where `ip netns` looks.
bool may_build_as_root();

/// Starts a holder. Error: permission, when this kernel or its settings keep user namespaces from the user;
/// it says which setting, and what works without.
Result<os::ProcessMark> start_holder();

/// Moves the calling process into the holder's namespaces for good; nothing when it is there already.
/// Errors: not_found (the holder has gone), internal (the process has more than one thread).
Result<void> join_holder(const os::ProcessMark& holder);

/// True when the calling process is in the holder's user namespace.
bool is_inside(const os::ProcessMark& holder);

}  // namespace weft::lab
