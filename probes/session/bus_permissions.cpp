#include "probes/session/bus_permissions.hpp"

#include <set>

#include "probes/session/bus.hpp"
#include "probes/session/subject.hpp"

namespace weft::session {

BusPermissions coordinator_permissions(RunId run) {
  return {
      .publish = {subject_to_anyone(run, kCoordinator), acknowledgements_to_anyone(run, kCoordinator)},
      .subscribe = {subscription_of(run, kCoordinator), subscription_to_acknowledgements(run, kCoordinator)}};
}

BusPermissions agent_permissions(RunId run, std::string_view host) {
  return {.publish = {subject_of(run, kCoordinator, host), acknowledgements_to(run, kCoordinator, host)},
          .subscribe = {subscription_of(run, host), subscription_to_acknowledgements(run, host)}};
}

Result<std::vector<BusUser>> bus_users(RunId run, const std::vector<std::string>& hosts) {
  std::vector<BusUser> users{
      {std::string(kCoordinator), subject_token(kCoordinator), coordinator_permissions(run)}};
  std::set<std::string_view> taken{kCoordinator};
  for (const std::string& host : hosts) {
    if (!taken.insert(host).second)
      return fail(ErrorKind::usage,
                  "a host of this run is named '{}', which is taken: rename it in the fabric file", host);
    users.push_back({host, subject_token(host), agent_permissions(run, host)});
  }
  return users;
}

}  // namespace weft::session
