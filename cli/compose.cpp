#include "cli/compose.hpp"

#include <sodium.h>

#include <algorithm>

#include "probes/engine/raw/raw_engine.hpp"
#include "probes/engine/sim/sim_fabric.hpp"
#include "probes/engine/umad/umad_engine.hpp"
#include "topology/base/check.hpp"

namespace weft {

OpenEngines raw_engines(std::vector<NicReport> nics) {
  return [nics = std::move(nics)](const NicAssignment& assigned,
                                  const RunSecrets& secrets) -> Result<NicEngines> {
    const auto nic = std::ranges::find(nics, assigned.interface, &NicReport::interface);
    if (nic == nics.end())
      return fail(ErrorKind::not_found, "this host has no NIC '{}' to probe from", assigned.interface);
    const bool by_address = nic->interface == to_string(nic->address);
    const auto interface = by_address ? interface_with(nic->address) : Result<std::string>(nic->interface);
    if (!interface) return pass_on(interface);
    auto opened = open_raw_engine({.interface = *interface, .address = nic->address}, secrets, assigned.nic);
    if (!opened) return pass_on(opened);
    const std::shared_ptr<RawEngine> engine(std::move(*opened));
    return NicEngines{engine, engine};
  };
}

OpenEngines umad_engines(std::vector<NicReport> nics, bool in_ibsim) {
  return [nics = std::move(nics), in_ibsim](const NicAssignment& assigned,
                                            const RunSecrets& secrets) -> Result<NicEngines> {
    const auto nic = std::ranges::find(nics, assigned.interface, &NicReport::interface);
    if (nic == nics.end())
      return fail(ErrorKind::not_found, "this host has no adapter '{}' to probe from", assigned.interface);
    auto opened = open_umad_engine({.device = nic->interface, .in_ibsim = in_ibsim}, secrets, assigned.nic);
    if (!opened) return pass_on(opened);
    return NicEngines{std::shared_ptr<ProbeEngine>(std::move(*opened)), nullptr};
  };
}

OpenEngines simulated_engines(const Fabric& fabric, const AddressBook& addresses,
                              const std::vector<FaultSpec>& faults, std::uint64_t seed) {
  SimOptions options;
  options.seed = seed;
  options.faults = faults;
  return [world = SimFabric::make(fabric, addresses, options)](const NicAssignment& assigned,
                                                               const RunSecrets&) -> Result<NicEngines> {
    const auto engine = world->engine(assigned.nic);
    return NicEngines{engine, engine};
  };
}

RunSecrets new_run_secrets() {
  WEFT_CHECK(sodium_init() >= 0);
  RunSecrets secrets;
  std::uint64_t run = 0;
  randombytes_buf(&run, sizeof run);
  randombytes_buf(secrets.key.data(), secrets.key.size());
  secrets.run = RunId(run);
  return secrets;
}

}  // namespace weft
