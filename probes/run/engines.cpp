#include "probes/run/engines.hpp"

#include <sodium.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "collectors/counters/nic_names.hpp"
#include "probes/datapath/probe_engine.hpp"
#include "probes/engine/dpdk/dpdk_engine.hpp"
#include "probes/engine/raw/raw_engine.hpp"
#include "probes/engine/sim/sim_fabric.hpp"
#include "probes/gpu/host_buffer.hpp"
#include "probes/run/agents.hpp"
#include "topology/base/check.hpp"
#include "topology/host/near_cpus.hpp"
#include "topology/host/nic_reader.hpp"
#include "topology/host/rdma_counters.hpp"
#include "topology/model/fabric.hpp"
#include "topology/model/infiniband.hpp"
#include "topology/os/clocks.hpp"

namespace weft::run {
namespace {

/// Traces by raw packets, all else by another engine. The raw socket is open only while it traces: the kernel
/// looks at every packet of the NIC for it, which soft-RoCE's would pay for.
class TracedEngine final : public datapath::ProbeEngine {
 public:
  using OpenTracer = std::function<Result<std::unique_ptr<datapath::ProbeEngine>>()>;
  TracedEngine(OpenTracer open, std::shared_ptr<datapath::ProbeEngine> other)
      : open_(std::move(open)), other_(std::move(other)) {}
  Result<std::vector<datapath::HopAnswer>> trace(const datapath::TraceRequest& request,
                                                 std::stop_token stop) override {
    WEFT_TRY(const auto tracer, open_());
    return trace_without_echo(*tracer, request, std::move(stop));
  }
  Result<std::vector<datapath::PingTally>> ping(const datapath::PingRequest& request,
                                                std::stop_token stop) override {
    return other_->ping(request, std::move(stop));
  }
  Result<std::vector<datapath::ReceivedTally>> received(BatchId batch) override {
    return other_->received(batch);
  }

 private:
  OpenTracer open_;
  std::shared_ptr<datapath::ProbeEngine> other_;
};

Result<session::NicReport> find_nic(const std::vector<session::NicReport>& nics,
                                    const session::NicAssignment& assigned) {
  const auto nic = std::ranges::find(nics, assigned.interface, &session::NicReport::interface);
  if (nic != nics.end()) return *nic;
  return fail(ErrorKind::not_found, "this host has no NIC '{}' to probe from", assigned.interface);
}

/// A NIC goes by its interface, or by its address alone.
Result<std::string> interface_of(const session::NicReport& nic) {
  return nic.interface == to_string(nic.address) ? nic::interface_with(nic.address)
                                                 : Result<std::string>(nic.interface);
}

Result<nic::HostNic> raw_nic(const std::vector<session::NicReport>& nics,
                             const session::NicAssignment& assigned, const ChosenClass& packets) {
  WEFT_TRY(const auto nic, find_nic(nics, assigned));
  WEFT_TRY(const auto interface, interface_of(nic));
  return nic::HostNic{.interface = interface, .address = nic.address, .traffic_class = packets.traffic_class};
}

/// What the interface counts, by weft's own names, and its RDMA device, where it has one, by the device's.
std::function<std::optional<NicCounters>()> counters_of(const std::string& interface) {
  return [interface]() -> std::optional<NicCounters> {
    auto read = host::rdma_counters("/sys", interface, os::steady_now());
    const NicReading nic = host::read_nic("/sys", interface, false);
    const auto counts = counters::nic_counts(nic);
    if (const auto times = counters::pause_times(nic); !times.empty()) {
      if (!read) read = NicCounters{interface, 1, os::steady_now(), {}};
      for (const auto& [name, micros] : times) read->values.emplace(name, micros);
    }
    // What tells nothing of its cable (a virtual one) is no news.
    const auto is_error = [](const auto& count) { return counters::facts(count.first.counter).is_error; };
    if (std::ranges::none_of(counts, is_error)) return read;
    if (!read) read = NicCounters{interface, 1, os::steady_now(), {}};
    for (const auto& [key, count] : counts) read->values.emplace(to_string(key), count.value);
    return read;
  };
}

}  // namespace

session::OpenEngines raw_engines(std::vector<session::NicReport> nics, const ChosenClass& packets) {
  return [nics = std::move(nics), packets](
             const session::NicAssignment& assigned, const packet::RunSecrets& secrets,
             const datapath::SharedNics& of_run) -> Result<session::NicEngines> {
    WEFT_TRY(const auto nic, raw_nic(nics, assigned, packets));
    WEFT_TRY(auto opened, raw::open_raw_engine(nic, secrets, assigned.nic, of_run));
    const std::shared_ptr<nic::PacketEngine> engine(std::move(opened));
    return session::NicEngines{engine, engine, nullptr, counters_of(nic.interface)};
  };
}

Result<void> check_dpdk_arguments(const std::string& text) {
  WEFT_TRY([[maybe_unused]] const auto arguments, dpdk::parse_dpdk_arguments(text));
  return {};
}

session::OpenEngines dpdk_engines(std::vector<session::NicReport> nics, const ChosenClass& packets,
                                  std::string arguments) {
  if (arguments.empty()) arguments = dpdk::kUsualArguments;
  return [nics = std::move(nics), packets, said = std::move(arguments)](
             const session::NicAssignment& assigned, const packet::RunSecrets& secrets,
             const datapath::SharedNics& of_run) -> Result<session::NicEngines> {
    WEFT_TRY(auto parsed, dpdk::parse_dpdk_arguments(said));
    WEFT_TRY(const auto nic, raw_nic(nics, assigned, packets));
    WEFT_TRY(auto opened, dpdk::open_dpdk_engine(nic, {std::move(parsed), module_file(dpdk::kDpdkModuleName)},
                                                 secrets, assigned.nic, of_run));
    const std::shared_ptr<nic::PacketEngine> engine(std::move(opened.engine));
    return session::NicEngines{engine, engine, nullptr, counters_of(nic.interface), opened.uses};
  };
}

session::OpenEngines dpdk_else_raw_engines(session::OpenEngines dpdk, session::OpenEngines raw) {
  return [dpdk = std::move(dpdk), raw = std::move(raw)](
             const session::NicAssignment& assigned, const packet::RunSecrets& secrets,
             const datapath::SharedNics& of_run) -> Result<session::NicEngines> {
    auto opened = dpdk(assigned, secrets, of_run);
    if (opened) return opened;
    auto instead = raw(assigned, secrets, of_run);
    if (instead) instead->uses = fmt::format("raw packets, not DPDK: {}", opened.error().message);
    return instead;
  };
}

Result<std::unique_ptr<packet::TransferBuffer>> host_memory(Bytes size) {
  return gpu::HostBuffer::allocate(size);
}

OpenVerbsEngine verbs_of_host() {
  return [](const verbs::VerbsOptions& options) { return open_verbs_engine(options); };
}

session::OpenEngines verbs_engines(std::vector<session::NicReport> nics, MemoryOfNic memory,
                                   const VerbsEngineOptions& options, OpenVerbsEngine open) {
  return [nics = std::move(nics), memory = std::move(memory), options, open = std::move(open)](
             const session::NicAssignment& assigned, const packet::RunSecrets& secrets,
             const datapath::SharedNics& of_run) -> Result<session::NicEngines> {
    const ChosenClass& packets = options.packets;
    WEFT_TRY(const auto report, find_nic(nics, assigned));
    const auto nic = raw_nic(nics, assigned, packets);  // a port of InfiniBand has no interface of its own
    WEFT_TRY(const auto flows, memory(assigned.interface));
    auto opened = open({.gid = {report.address, nic ? nic->interface : "", packets.gid_index},
                        .traffic = {packets.traffic_class, packets.service_level},
                        .memory = {flows.buffers, host_memory},
                        .nics = of_run,
                        .probes = options.probes,
                        .by_address = options.by_address
                                          ? std::optional(verbs::ExchangeByAddress{assigned.nic, secrets.key})
                                          : std::nullopt});
    if (!opened) return pass_on(opened);
    session::NicEngines engines{
        *opened, *opened, *opened, nullptr,
        (*opened)->uses() + (flows.of.empty() ? "" : ", " + flows.of) + "; " + packets.said};
    // The paths of InfiniBand are in the switches' tables, and so are the counters of its ports.
    if ((*opened)->is_infiniband()) return engines;
    if (!nic) return pass_on(nic);
    const auto tracer = [nic = *nic, secrets, self = assigned.nic] {
      return raw::open_raw_tracer(nic, secrets, self);
    };
    if (const auto opens = tracer(); !opens) return pass_on(opens);
    engines.probes = std::make_shared<TracedEngine>(tracer, *opened);
    engines.counters = counters_of(nic->interface);
    return engines;
  };
}

std::vector<session::NicOffer> offers_of(const std::vector<session::NicReport>& nics,
                                         const std::filesystem::path& sys) {
  std::vector<session::NicOffer> offers;
  for (const session::NicReport& nic : nics) {
    const auto interface = interface_of(nic);
    const auto device = interface ? host::rdma_device_of(sys, *interface) : std::nullopt;
    offers.push_back({nic.interface, device.value_or(""),
                      device      ? ""
                      : interface ? fmt::format("no RDMA device has an address of {}", *interface)
                                  : interface.error().message});
  }
  return offers;
}

session::OpenEngines chosen_engines(std::vector<session::NicOffer> offers, session::OpenEngines raw,
                                    session::OpenEngines verbs) {
  return [offers = std::move(offers), raw = std::move(raw), verbs = std::move(verbs)](
             const session::NicAssignment& assigned, const packet::RunSecrets& secrets,
             const datapath::SharedNics& of_run) -> Result<session::NicEngines> {
    const auto offer = std::ranges::find(offers, assigned.interface, &session::NicOffer::interface);
    const bool has_device = offer != offers.end() && !offer->rdma_device.empty();
    if (assigned.engine.empty() ? has_device : assigned.engine == session::kVerbsEngine)
      return verbs(assigned, secrets, of_run);
    if (!assigned.engine.empty() && assigned.engine != session::kRawEngine)
      return fail(ErrorKind::not_supported, "this agent knows no engine '{}'", assigned.engine);
    auto engines = raw(assigned, secrets, of_run);
    if (engines && offer != offers.end() && !offer->why.empty())
      engines->uses =
          fmt::format("{}: {}", engines->uses.empty() ? "raw packets" : engines->uses, offer->why);
    return engines;
  };
}

umad::OpenMads once_in_ibsim(umad::OpenMads open) {
  struct Opened {
    std::mutex mutex;  // standing probes and runs open in threads of their own
    std::set<Guid> ports;
  };
  return [open = std::move(open), opened = std::make_shared<Opened>()](
             const umad::UmadPort& port) -> Result<std::unique_ptr<mad::Mads>> {
    if (!port.in_ibsim || !port.guid) return open(port);
    const std::lock_guard lock(opened->mutex);
    if (opened->ports.contains(*port.guid))
      return fail(ErrorKind::not_supported,
                  "ibsim gives a process one port, to open once, and this one has opened it");
    auto mads = open(port);
    if (mads) opened->ports.insert(*port.guid);
    return mads;
  };
}

umad::OpenMads mads_of_host() {
  return once_in_ibsim([](const umad::UmadPort& port) { return open_umad(port); });
}

session::OpenEngines umad_engines(std::vector<session::NicReport> nics, bool in_ibsim, umad::OpenMads open) {
  return [nics = std::move(nics), in_ibsim, open = std::move(open)](
             const session::NicAssignment& assigned, const packet::RunSecrets& secrets,
             const datapath::SharedNics&) -> Result<session::NicEngines> {
    WEFT_TRY(const auto nic, find_nic(nics, assigned));
    const auto guid = port_of_gid(nic.address);
    if (!guid) return fail(ErrorKind::usage, "{} is no GID of an InfiniBand port", to_string(nic.address));
    WEFT_TRY(auto opened,
             umad::open_umad_engine({.guid = guid, .in_ibsim = in_ibsim}, secrets, assigned.nic, open));
    return session::NicEngines{std::shared_ptr<datapath::ProbeEngine>(std::move(opened)), nullptr};
  };
}

session::NicEngines engines_of(const std::shared_ptr<sim::SimNic>& nic) {
  session::NicEngines engines{nic, nic};
  engines.expect = [nic](const session::TaskWork& work) {
    if (const auto* request = std::get_if<datapath::TraceRequest>(&work)) nic->expect(*request);
    if (const auto* request = std::get_if<datapath::FlowRequest>(&work)) nic->expect(*request);
  };
  return engines;
}

session::OpenEngines simulated_engines(const Fabric& fabric, const AddressBook& addresses,
                                       const std::vector<FaultSpec>& faults, std::uint64_t seed,
                                       std::shared_ptr<const routing::ForwardingTables> tables,
                                       const std::vector<HostStall>& stalls, Fraction background_loss,
                                       const routing::HashOptions& hash) {
  sim::SimOptions options;
  options.seed = seed;
  options.faults = faults;
  options.tables = std::move(tables);
  options.stalls = stalls;
  options.background_loss = background_loss;
  options.hash = hash;
  return [world = sim::SimFabric::make(fabric, addresses, options)](
             const session::NicAssignment& assigned, const packet::RunSecrets&,
             const datapath::SharedNics&) -> Result<session::NicEngines> {
    return engines_of(world->engine(assigned.nic));
  };
}

session::OpenEngines near_nics(session::OpenEngines open, const std::optional<HostInventory>& inventory) {
  std::map<std::string, std::string> cpus;
  if (inventory)
    for (const NicInventory& nic : inventory->nics)
      if (nic.served_as && !nic.near_cpus.empty()) cpus[*nic.served_as] = nic.near_cpus;
  return [open = std::move(open), cpus = std::move(cpus)](const session::NicAssignment& nic,
                                                          const packet::RunSecrets& secrets,
                                                          const datapath::SharedNics& of_run) {
    if (const auto near = cpus.find(nic.interface); near != cpus.end()) {
      [[maybe_unused]] const auto held = host::run_this_thread_on(near->second);
    }
    return open(nic, secrets, of_run);
  };
}

packet::RunSecrets new_run_secrets() {
  WEFT_CHECK(sodium_init() >= 0);
  packet::RunSecrets secrets;
  std::uint64_t run = 0;
  randombytes_buf(&run, sizeof run);
  randombytes_buf(secrets.key.data(), secrets.key.size());
  secrets.run = RunId(run);
  return secrets;
}

packet::Secret new_secret() {
  WEFT_CHECK(sodium_init() >= 0);
  packet::Secret secret;
  randombytes_buf(secret.data(), secret.size());
  return secret;
}

}  // namespace weft::run
