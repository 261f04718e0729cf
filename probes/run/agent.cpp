#include "probes/run/agent.hpp"

#include <cstdlib>

#include "probes/run/gpu_memory.hpp"
#include "topology/host/host_reader.hpp"

namespace weft::run {
namespace {

constexpr const char* kDevices = "/sys";

/// Authorities that OpenSSL knows by itself. A login brings the one certificate that counts; to read all
/// others of a host would cost an agent 30 ms and megabytes.
void trust_no_authority() {
  setenv("SSL_CERT_FILE", "/dev/null", 1);
  setenv("SSL_CERT_DIR", "/dev/null", 1);
}

/// What the coordinator is to know of this host; it is of use, but nothing depends on it.
std::optional<HostInventory> inventory_of(const AgentWords& words) {
  if (words.agent_options.engine == EngineKind::ibsim) return std::nullopt;  // not this machine's adapters
  host::HostSource source{.shares_machine = words.shares_machine};
  for (const session::NicReport& nic : words.nics) source.serves.push_back(nic.interface);
  auto inventory = read_host(source);
  return inventory ? std::optional(std::move(*inventory)) : std::nullopt;
}

MemoryOfNic memory_for(MemoryOf memory, const packet::BufferFactory& of_host,
                       const std::optional<HostInventory>& inventory) {
  if (memory == MemoryOf::gpu) return gpu_memory(inventory, cuda_module_file());
  return [of_host](const std::string&) -> Result<FlowMemory> { return FlowMemory{of_host, {}}; };
}

session::OpenEngines engines_for(const AgentWords& words, const AgentParts& parts, const ChosenClass& packets,
                                 const std::vector<session::NicOffer>& offers,
                                 const std::optional<HostInventory>& inventory) {
  const AgentOptions& options = words.agent_options;
  const auto raw = [&] { return raw_engines(words.nics, packets); };
  const auto verbs = [&] {
    return verbs_engines(words.nics, memory_for(options.memory, parts.memory, inventory),
                         {packets, options.probes, options.exchange == ExchangeBy::address},
                         parts.open_verbs);
  };
  switch (options.engine) {
    case EngineKind::raw:
      return raw();
    case EngineKind::verbs:
      return verbs();
    case EngineKind::umad:
    case EngineKind::ibsim:
      return umad_engines(words.nics, options.engine == EngineKind::ibsim, parts.open_mads);
    case EngineKind::automatic:
      return chosen_engines(offers, raw(), verbs());
  }
  return {};
}

}  // namespace

Result<void> serve_agent(const AgentWords& words, const bus::BusCredential& credential,
                         std::string_view version, const AgentParts& parts, const Environment& environment,
                         std::stop_token stop) {
  if (std::holds_alternative<bus::BusLogin>(credential)) trust_no_authority();
  WEFT_TRY(const auto bus, bus::connect_nats({words.server, credential}, words.run, words.host));
  session::Hello hello{words.host, std::string(version), std::string(to_string(words.agent_options.engine)),
                       words.nics};
  if (words.agent_options.engine == EngineKind::automatic) hello.offers = offers_of(words.nics, kDevices);
  WEFT_TRY(const auto packets, choose_packet_class(words.agent_options.packets, environment));
  const auto prepare = [&]() -> session::RunHost {
    const auto inventory = inventory_of(words);
    return {near_nics(engines_for(words, parts, packets, hello.offers, inventory), inventory), inventory};
  };
  return run_agent(*bus, hello, prepare, std::move(stop), parts.life);
}

}  // namespace weft::run
