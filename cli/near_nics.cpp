#include "cli/near_nics.hpp"

#include <map>

#include "topology/host/near_cpus.hpp"

namespace weft {

OpenEngines near_nics(OpenEngines open, const std::optional<HostInventory>& inventory) {
  std::map<std::string, std::string> cpus;
  if (inventory)
    for (const NicInventory& nic : inventory->nics)
      if (nic.served_as && !nic.near_cpus.empty()) cpus[*nic.served_as] = nic.near_cpus;
  return
      [open = std::move(open), cpus = std::move(cpus)](const NicAssignment& nic, const RunSecrets& secrets) {
        if (const auto near = cpus.find(nic.interface); near != cpus.end()) {
          [[maybe_unused]] const auto held = run_this_thread_on(near->second);
        }
        return open(nic, secrets);
      };
}

}  // namespace weft
