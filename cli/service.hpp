// What a command is told by the manager of its service: NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID, as
// systemd sets them.
#pragma once

#include <cstddef>

#include "topology/os/service_notifier.hpp"

namespace weft::cli {

/// For a service of so many parts. Takes the variables out of the environment, so that no child says
/// something in this one's name; call it before other threads are started. A socket that cannot be used is
/// said on stderr, and nobody is told then.
os::ServiceNotifier service_notifier(std::size_t parts);

}  // namespace weft::cli
