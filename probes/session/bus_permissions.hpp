// What each participant of a run may do on its bus: speak in its own name to those it works with, hear what
// is sent to it, and acknowledge it. Pure; a server's configuration is made of it. So nobody can publish as
// another or as the coordinator, nor read what is for others.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "topology/base/ids.hpp"
#include "topology/base/result.hpp"

namespace weft::session {

/// Subjects; everything else is denied.
struct BusPermissions {
  std::vector<std::string> publish;
  std::vector<std::string> subscribe;
  friend bool operator==(const BusPermissions&, const BusPermissions&) = default;
};

/// To every host; from every host.
BusPermissions coordinator_permissions(RunId run);
/// To the coordinator alone, in the name of `host`; what is sent to `host`. Questions between agents travel
/// by way of the coordinator, so an agent has nothing to say to another.
BusPermissions agent_permissions(RunId run, std::string_view host);

/// Of a server that stands for long: between them only what server_config.hpp lists passes. Watchers may use
/// what the server keeps (watch_subjects.hpp).
enum class BusAccount : std::uint8_t { agents, watchers, operators };

struct BusUser {
  std::string participant;  // kCoordinator, or the name of a host, a watcher or an operator
  std::string name;         // letters, digits, '-', '_' and '=' alone
  BusPermissions may;
  BusAccount account = BusAccount::agents;
  friend bool operator==(const BusUser&, const BusUser&) = default;
};

/// The coordinator first, then the hosts in their order. Error (usage): a host that has the coordinator's
/// name, or two of one name.
Result<std::vector<BusUser>> bus_users(RunId run, const std::vector<std::string>& hosts);

}  // namespace weft::session
