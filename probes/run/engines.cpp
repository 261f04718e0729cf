#include "probes/run/engines.hpp"

#include <sodium.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "probes/datapath/probe_engine.hpp"
#include "probes/engine/raw/raw_engine.hpp"
#include "probes/engine/sim/sim_fabric.hpp"
#include "probes/engine/umad/umad_engine.hpp"
#include "probes/engine/verbs/verbs_engine.hpp"
#include "probes/gpu/host_buffer.hpp"
#include "topology/base/check.hpp"
#include "topology/host/near_cpus.hpp"
#include "topology/host/rdma_counters.hpp"
#include "topology/model/infiniband.hpp"

namespace weft {
namespace {

/// Traces by raw packets, all else by another engine. The raw socket is open only while it traces: the kernel
/// looks at every packet of the NIC for it, which soft-RoCE's would pay for.
class TracedEngine final : public ProbeEngine {
 public:
  using OpenTracer = std::function<Result<std::unique_ptr<ProbeEngine>>()>;
  TracedEngine(OpenTracer open, std::shared_ptr<ProbeEngine> other)
      : open_(std::move(open)), other_(std::move(other)) {}
  Result<std::vector<HopAnswer>> trace(const TraceRequest& request, std::stop_token stop) override {
    WEFT_TRY(const auto tracer, open_());
    return trace_without_echo(*tracer, request, std::move(stop));
  }
  Result<std::vector<PingTally>> ping(const PingRequest& request, std::stop_token stop) override {
    return other_->ping(request, std::move(stop));
  }
  Result<std::vector<ReceivedTally>> received(BatchId batch) override { return other_->received(batch); }

 private:
  OpenTracer open_;
  std::shared_ptr<ProbeEngine> other_;
};

Result<NicReport> find_nic(const std::vector<NicReport>& nics, const NicAssignment& assigned) {
  const auto nic = std::ranges::find(nics, assigned.interface, &NicReport::interface);
  if (nic != nics.end()) return *nic;
  return fail(ErrorKind::not_found, "this host has no NIC '{}' to probe from", assigned.interface);
}

/// A NIC goes by its interface, or by its address alone.
Result<RawNic> raw_nic(const std::vector<NicReport>& nics, const NicAssignment& assigned,
                       const ChosenClass& packets) {
  WEFT_TRY(const auto nic, find_nic(nics, assigned));
  const bool by_address = nic.interface == to_string(nic.address);
  WEFT_TRY(const auto interface,
           by_address ? interface_with(nic.address) : Result<std::string>(nic.interface));
  return RawNic{.interface = interface, .address = nic.address, .traffic_class = packets.traffic_class};
}

/// What the RDMA device of an interface counts, where it has one.
std::function<std::optional<NicCounters>()> counters_of(const std::string& interface) {
  return [interface] {
    return rdma_counters("/sys", interface, std::chrono::steady_clock::now().time_since_epoch());
  };
}

}  // namespace

OpenEngines raw_engines(std::vector<NicReport> nics, const ChosenClass& packets) {
  return [nics = std::move(nics), packets](const NicAssignment& assigned, const RunSecrets& secrets,
                                           const SharedNics& of_run) -> Result<NicEngines> {
    WEFT_TRY(const auto nic, raw_nic(nics, assigned, packets));
    WEFT_TRY(auto opened, open_raw_engine(nic, secrets, assigned.nic, of_run));
    const std::shared_ptr<RawEngine> engine(std::move(opened));
    return NicEngines{engine, engine, nullptr, counters_of(nic.interface)};
  };
}

Result<std::unique_ptr<TransferBuffer>> host_memory(Bytes size) { return HostBuffer::allocate(size); }

OpenVerbsEngine verbs_of_host() {
  return [](const VerbsOptions& options) { return open_verbs_engine(options); };
}

OpenEngines verbs_engines(std::vector<NicReport> nics, MemoryOfNic memory, const VerbsEngineOptions& options,
                          OpenVerbsEngine open) {
  return [nics = std::move(nics), memory = std::move(memory), options, open = std::move(open)](
             const NicAssignment& assigned, const RunSecrets& secrets,
             const SharedNics& of_run) -> Result<NicEngines> {
    const ChosenClass& packets = options.packets;
    WEFT_TRY(const auto report, find_nic(nics, assigned));
    const auto nic = raw_nic(nics, assigned, packets);  // a port of InfiniBand has no interface of its own
    WEFT_TRY(const auto flows, memory(assigned.interface));
    auto opened =
        open({.gid = {report.address, nic ? nic->interface : "", packets.gid_index},
              .traffic = {packets.traffic_class, packets.service_level},
              .memory = {flows.buffers, host_memory},
              .nics = of_run,
              .probes = options.probes,
              .by_address = options.by_address ? std::optional(ExchangeByAddress{assigned.nic, secrets.key})
                                               : std::nullopt});
    if (!opened) return pass_on(opened);
    NicEngines engines{*opened, *opened, *opened, nullptr,
                       (*opened)->uses() + (flows.of.empty() ? "" : ", " + flows.of) + "; " + packets.said};
    // The paths of InfiniBand are in the switches' tables, and so are the counters of its ports.
    if ((*opened)->is_infiniband()) return engines;
    if (!nic) return pass_on(nic);
    const auto tracer = [nic = *nic, secrets, self = assigned.nic] {
      return open_raw_tracer(nic, secrets, self);
    };
    if (const auto opens = tracer(); !opens) return pass_on(opens);
    engines.probes = std::make_shared<TracedEngine>(tracer, *opened);
    engines.counters = counters_of(nic->interface);
    return engines;
  };
}

OpenMads mads_of_host() {
  return [](const UmadPort& port) { return open_umad(port); };
}

OpenEngines umad_engines(std::vector<NicReport> nics, bool in_ibsim, OpenMads open) {
  return
      [nics = std::move(nics), in_ibsim, open = std::move(open)](
          const NicAssignment& assigned, const RunSecrets& secrets, const SharedNics&) -> Result<NicEngines> {
        WEFT_TRY(const auto nic, find_nic(nics, assigned));
        const auto guid = port_of_gid(nic.address);
        if (!guid)
          return fail(ErrorKind::usage, "{} is no GID of an InfiniBand port", to_string(nic.address));
        WEFT_TRY(auto opened,
                 open_umad_engine({.guid = guid, .in_ibsim = in_ibsim}, secrets, assigned.nic, open));
        return NicEngines{std::shared_ptr<ProbeEngine>(std::move(opened)), nullptr};
      };
}

OpenEngines simulated_engines(const Fabric& fabric, const AddressBook& addresses,
                              const std::vector<FaultSpec>& faults, std::uint64_t seed,
                              std::shared_ptr<const ForwardingTables> tables,
                              const std::vector<HostStall>& stalls) {
  SimOptions options;
  options.seed = seed;
  options.faults = faults;
  options.tables = std::move(tables);
  options.stalls = stalls;
  return [world = SimFabric::make(fabric, addresses, options)](
             const NicAssignment& assigned, const RunSecrets&, const SharedNics&) -> Result<NicEngines> {
    const auto engine = world->engine(assigned.nic);
    return NicEngines{engine, engine};
  };
}

OpenEngines near_nics(OpenEngines open, const std::optional<HostInventory>& inventory) {
  std::map<std::string, std::string> cpus;
  if (inventory)
    for (const NicInventory& nic : inventory->nics)
      if (nic.served_as && !nic.near_cpus.empty()) cpus[*nic.served_as] = nic.near_cpus;
  return [open = std::move(open), cpus = std::move(cpus)](const NicAssignment& nic, const RunSecrets& secrets,
                                                          const SharedNics& of_run) {
    if (const auto near = cpus.find(nic.interface); near != cpus.end()) {
      [[maybe_unused]] const auto held = run_this_thread_on(near->second);
    }
    return open(nic, secrets, of_run);
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
