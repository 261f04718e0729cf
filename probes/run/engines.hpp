// Where adapters meet the session: what opens the engines of a NIC, by kind.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "collectors/bus/nats_bus.hpp"
#include "probes/datapath/probe_engine.hpp"
#include "probes/engine/sim/sim_fabric.hpp"
#include "probes/engine/umad/umad_engine.hpp"
#include "probes/engine/verbs/verbs_engine.hpp"
#include "probes/packet/pair_key.hpp"
#include "probes/packet/transfer_buffer.hpp"
#include "probes/run/packet_class.hpp"
#include "probes/session/work.hpp"
#include "topology/findings/host_inventory.hpp"
#include "topology/model/addressing.hpp"
#include "topology/model/fault.hpp"
#include "topology/routing/forwarding_tables.hpp"
#include "topology/routing/switch_hash.hpp"

namespace weft::run {

/// Opens AF_PACKET engines for NICs that go by the interfaces and addresses of `nics`.
session::OpenEngines raw_engines(std::vector<session::NicReport> nics, const ChosenClass& packets);

/// What --dpdk-args says is what DPDK takes. Error: usage.
Result<void> check_dpdk_arguments(const std::string& text);
/// Opens the same engines over devices of DPDK, as `arguments` (--dpdk-args; empty: the usual ones) has them.
session::OpenEngines dpdk_engines(std::vector<session::NicReport> nics, const ChosenClass& packets,
                                  std::string arguments);
/// By `dpdk`; where that does not open, by `raw`, with the reason.
session::OpenEngines dpdk_else_raw_engines(session::OpenEngines dpdk, session::OpenEngines raw);

/// Memory of this host, for queue pairs.
Result<std::unique_ptr<packet::TransferBuffer>> host_memory(Bytes size);

/// Memory for the flows of a NIC, which goes by `interface`.
struct FlowMemory {
  packet::BufferFactory buffers;
  std::string of;  // whose it is, in words; empty: the host's
};
using MemoryOfNic = std::function<Result<FlowMemory>(const std::string& interface)>;

using OpenVerbsEngine =
    std::function<Result<std::shared_ptr<verbs::VerbsEngine>>(const verbs::VerbsOptions&)>;

/// By the RDMA libraries of this host, loaded only then.
OpenVerbsEngine verbs_of_host();

struct VerbsEngineOptions {
  ChosenClass packets;
  datapath::ProbeTransport probes = datapath::ProbeTransport::by_device;
  bool by_address = false;  // peers are found by librdmacm, not by way of the coordinator
};

/// Opens queue pairs for probes and flows, and raw sockets for traces.
session::OpenEngines verbs_engines(std::vector<session::NicReport> nics, MemoryOfNic memory,
                                   const VerbsEngineOptions& options, OpenVerbsEngine open);

/// By what each of these NICs can send, of a host whose devices are listed in `sys`.
std::vector<session::NicOffer> offers_of(const std::vector<session::NicReport>& nics,
                                         const std::filesystem::path& sys);
/// Opens each NIC by the engine that its assignment names; where that names none, by `verbs` where the NIC
/// has an RDMA device, else by `raw`, which is any engine of packets.
session::OpenEngines chosen_engines(std::vector<session::NicOffer> offers, session::OpenEngines raw,
                                    session::OpenEngines verbs);

/// The management datagrams of this host's ports.
umad::OpenMads mads_of_host();
/// The same by `open`, in ibsim each port once: what opens it again would take datagrams of the first.
umad::OpenMads once_in_ibsim(umad::OpenMads open);

/// Opens InfiniBand management engines; a NIC's address is the GID of its port.
session::OpenEngines umad_engines(std::vector<session::NicReport> nics, bool in_ibsim, umad::OpenMads open);

/// All that a simulated NIC does.
session::NicEngines engines_of(const std::shared_ptr<sim::SimNic>& nic);
/// Engines of a simulated fabric; what is given must outlive them. `tables`,
/// `background_loss` and `hash` as SimOptions has them.
session::OpenEngines simulated_engines(const Fabric& fabric, const AddressBook& addresses,
                                       const std::vector<FaultSpec>& faults, std::uint64_t seed,
                                       std::shared_ptr<const routing::ForwardingTables> tables = nullptr,
                                       const std::vector<HostStall>& stalls = {},
                                       Fraction background_loss = {}, const routing::HashOptions& hash = {});

/// Opens engines as `open` does, after holding the calling thread to the CPUs near the NIC that `inventory`
/// tells of: the threads that the engine and its worker start from there inherit that. Where nothing is told,
/// or the system does not let us, they run wherever they like.
session::OpenEngines near_nics(session::OpenEngines open, const std::optional<HostInventory>& inventory);

/// A new run's id and key, from the system's random source.
packet::RunSecrets new_run_secrets();
/// Drawn at random, as those.
packet::Secret new_secret();

}  // namespace weft::run
