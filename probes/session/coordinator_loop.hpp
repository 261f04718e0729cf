// Drives a Coordinator: over a bus with agents on other machines or in other processes, or with agents of
// this process.
#pragma once

#include <functional>
#include <stop_token>

#include "probes/session/bus.hpp"
#include "probes/session/coordinator.hpp"
#include "probes/session/work.hpp"

namespace weft::session {

using OnProgress = std::function<void(const Progress&)>;

/// An agent that is known to be gone, before its silence tells.
struct GoneAgent {
  std::string host;
  std::string why;
};
/// Those that went since it was called last; called a few times a second.
using WatchAgents = std::function<std::vector<GoneAgent>()>;

/// Blocks until the script is over, or the bus is lost and the script has use for what it knows. Errors: no
/// host took part, the bus was lost, or `stop` was requested (agents are told to stop first).
Result<void> coordinate(Bus& bus, Coordinator& coordinator, const OnProgress& on_progress,
                        std::stop_token stop, const WatchAgents& watch = {});

/// The same with every agent in this process, one task after the other and no time passing: for engines that
/// simulate. The engines of a NIC are opened when its host is told to start. `limit`: of this machine's time.
Result<void> coordinate_in_process(Coordinator& coordinator, const std::vector<std::string>& hosts,
                                   const OpenEngines& open, const OnProgress& on_progress,
                                   std::stop_token stop, std::optional<TimeLimit> limit = std::nullopt);

}  // namespace weft::session
