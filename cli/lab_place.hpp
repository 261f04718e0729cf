// The labs of this user: where they are kept, which of them an option means, and how the hosts of a RoCE lab
// send: raw packets, or queue pairs where they are guests.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "probes/run/agent_options.hpp"
#include "topology/lab/netns/lab.hpp"

namespace weft::cli {

inline constexpr const char* kDefaultLabName = "default";

/// /run/weft/labs as root; $XDG_RUNTIME_DIR/weft/labs as a user, /tmp/weft-UID/labs where that is not set.
std::filesystem::path lab_state_root();
/// Where the InfiniBand labs (ibsim) of this user are kept: beside the others.
std::filesystem::path ib_lab_root();

/// Probes that a switch answers a second: those of labs and simulations answer as fast as they are asked.
inline constexpr double kLabAnswersPerSecond = 100'000;
/// What four emulated guests on two cores carry beside the fabric: each probe costs them two system calls and
/// four emulated interrupts.
inline constexpr double kGuestProbesPerSecond = 250;
/// An emulated guest itself takes a millisecond and more for a round trip: no fault of the fabric's.
inline constexpr Nanoseconds kGuestDelay = std::chrono::milliseconds(50);

std::vector<NodeId> guests_of(const lab::Lab& lab);

/// Absent: queue pairs where hosts have RDMA devices, which only guests do. Errors: not_supported, usage or
/// absent (an engine that this lab has no use for), with what to do.
Result<run::EngineKind> choose_lab_engine(std::optional<run::EngineKind> asked, const lab::Lab& lab);

}  // namespace weft::cli
