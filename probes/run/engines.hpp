// Where adapters meet the session: what opens the engines of a NIC, by kind.
#pragma once

#include <memory>
#include <vector>

#include "collectors/bus/nats_bus.hpp"
#include "probes/datapath/probe_engine.hpp"
#include "probes/packet/transfer_buffer.hpp"
#include "probes/run/packet_class.hpp"
#include "probes/session/work.hpp"
#include "topology/findings/host_inventory.hpp"
#include "topology/model/addressing.hpp"
#include "topology/model/fault.hpp"
#include "topology/routing/forwarding_tables.hpp"

namespace weft {

/// Opens AF_PACKET engines for NICs that go by the interfaces and addresses of `nics`.
OpenEngines raw_engines(std::vector<NicReport> nics, const ChosenClass& packets);

/// Memory of this host, for queue pairs.
Result<std::unique_ptr<TransferBuffer>> host_memory(Bytes size);

/// Memory for the flows of a NIC, which goes by `interface`.
struct FlowMemory {
  BufferFactory buffers;
  std::string of;  // whose it is, in words; empty: the host's
};
using MemoryOfNic = std::function<Result<FlowMemory>(const std::string& interface)>;

class VerbsEngine;
struct VerbsOptions;
using OpenVerbsEngine = std::function<Result<std::shared_ptr<VerbsEngine>>(const VerbsOptions&)>;

/// By the RDMA libraries of this host, loaded only then.
OpenVerbsEngine verbs_of_host();

struct VerbsEngineOptions {
  ChosenClass packets;
  ProbeTransport probes = ProbeTransport::by_device;
  bool by_address = false;  // peers are found by librdmacm, not by way of the coordinator
};

/// Opens queue pairs for probes and flows, and raw sockets for traces.
OpenEngines verbs_engines(std::vector<NicReport> nics, MemoryOfNic memory, const VerbsEngineOptions& options,
                          OpenVerbsEngine open);

class Mads;
struct UmadPort;
using OpenMads = std::function<Result<std::unique_ptr<Mads>>(const UmadPort&)>;

/// The management datagrams of this host's ports.
OpenMads mads_of_host();

/// Opens InfiniBand management engines; a NIC's address is the GID of its port.
OpenEngines umad_engines(std::vector<NicReport> nics, bool in_ibsim, OpenMads open);

/// Engines of a simulated fabric; what is given must outlive them. `tables` as SimOptions has them.
OpenEngines simulated_engines(const Fabric& fabric, const AddressBook& addresses,
                              const std::vector<FaultSpec>& faults, std::uint64_t seed,
                              std::shared_ptr<const ForwardingTables> tables = nullptr,
                              const std::vector<HostStall>& stalls = {});

/// Opens engines as `open` does, after holding the calling thread to the CPUs near the NIC that `inventory`
/// tells of: the threads that the engine and its worker start from there inherit that. Where nothing is told,
/// or the system does not let us, they run wherever they like.
OpenEngines near_nics(OpenEngines open, const std::optional<HostInventory>& inventory);

/// A new run's id and key, from the system's random source.
RunSecrets new_run_secrets();

}  // namespace weft
