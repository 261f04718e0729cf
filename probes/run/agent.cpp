#include "probes/run/agent.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "collectors/bus/agent_link.hpp"
#include "probes/run/gpu_memory.hpp"
#include "probes/run/standing_agent.hpp"
#include "probes/session/watch_subjects.hpp"
#include "topology/host/host_reader.hpp"

namespace weft::run {
namespace {

constexpr const char* kDevices = "/sys";
constexpr auto kBusAgain = std::chrono::seconds(2);  // of an agent that outlives its bus
/// Of agents that stand: they say it for good, on two numbers.
constexpr session::AgentTiming kStanding{.hello_interval = std::chrono::seconds(1)};

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
  const auto by_dpdk = [&] { return dpdk_engines(words.nics, packets, options.dpdk_args); };
  const auto verbs = [&] {
    return verbs_engines(words.nics, memory_for(options.memory, parts.memory, inventory),
                         {packets, options.probes, options.exchange == ExchangeBy::address},
                         parts.open_verbs);
  };
  switch (options.engine) {
    case EngineKind::raw:
      return raw();
    case EngineKind::dpdk:
      return by_dpdk();
    case EngineKind::verbs:
      return verbs();
    case EngineKind::umad:
    case EngineKind::ibsim:
      return umad_engines(words.nics, options.engine == EngineKind::ibsim, parts.open_mads);
    case EngineKind::automatic:
      return chosen_engines(
          offers, options.dpdk_args.empty() ? raw() : dpdk_else_raw_engines(by_dpdk(), raw()), verbs());
  }
  return {};
}

/// What serves the runs of one number, whatever becomes of the bus: it is connected to again.
void serve_runs(RunId number, const AgentWords& words, const bus::BusCredential& credential,
                const session::Hello& hello, const session::PrepareRun& prepare,
                const std::stop_token& stop) {
  std::mutex mutex;
  while (!stop.stop_requested()) {
    if (const auto bus = bus::connect_nats({words.server, credential}, number, words.host))
      static_cast<void>(run_agent(**bus, hello, prepare, stop, session::AgentLife::until_stopped, kStanding));
    std::unique_lock lock(mutex);
    std::condition_variable_any().wait_for(lock, stop, kBusAgain, [] { return false; });
  }
}

bool is_by_mads(const AgentWords& words) {
  const EngineKind engine = words.agent_options.engine;
  return engine == EngineKind::umad || engine == EngineKind::ibsim;
}

OpenStandingNic standing_nics_for(const AgentWords& words, const ChosenClass& packets,
                                  const AgentParts& parts) {
  if (is_by_mads(words))
    return umad_standing_nics(words.agent_options.engine == EngineKind::ibsim, parts.open_mads);
  if (words.agent_options.engine == EngineKind::verbs)
    return verbs_standing_nics(parts.open_ud, packets, words.agent_options.probes);
  return raw_standing_nics(packets.traffic_class);
}

/// Labels are taken where the server knows each participant by a key: elsewhere anybody could give them.
LabelPlace labels_for(LabelPlace place, const bus::BusCredential& credential) {
  if (place.refused.empty() && !std::holds_alternative<bus::BusKey>(credential))
    place.refused = "this agent has no credential of weft bus init: anybody could give it labels";
  return place;
}

/// Probes all the time, and serves runs beside.
Result<void> serve_standing(const AgentWords& words, const bus::BusCredential& credential,
                            const session::Hello& hello, const session::PrepareRun& prepare,
                            const ChosenClass& packets, const AgentParts& parts,
                            const std::stop_token& stop) {
  const auto served = std::make_shared<std::atomic<int>>(0);
  WEFT_TRY(const auto link,
           bus::connect_agent_link({words.server, credential}, words.agent_options.standing_for, words.host));
  const auto counted = [&]() -> session::RunHost {
    auto host = prepare();
    host.open = counted_engines(std::move(host.open), served);
    return host;
  };
  const auto serve = [&](RunId number) {
    return [&, number](const std::stop_token& end) {
      serve_runs(number, words, credential, hello, counted, end);
    };
  };
  const std::jthread mappings(serve(words.run));
  const std::jthread sweeps(serve(session::sweep_run(words.agent_options.standing_for)));
  return run_standing_agent(
      {.host = words.host,
       .version = hello.version,
       .nics = words.nics,
       .open = standing_nics_for(words, packets, parts),
       .open_when = words.agent_options.engine == EngineKind::verbs ? OpenWhen::at_once : OpenWhen::assigned,
       .engine = std::string(to_string(words.agent_options.engine)),
       .read_counters = is_by_mads(words)
                            ? ReadCounters()
                            : counters_of_nics(words.nics, kDevices,
                                               warmest_gpu([] { return host::open_nvml(); }, parts.remark)),
       .labels = labels_for(parts.labels, credential),
       .runs_served = served,
       .say = parts.say,
       .went_round = [&] { parts.went_round(0); }},
      *link, stop);
}

}  // namespace

Result<void> serve_agent(const AgentSeat& seat, std::string_view version, const AgentParts& parts,
                         const Environment& environment, std::stop_token stop) {
  const auto& [words, credential] = seat;
  if (std::holds_alternative<bus::BusLogin>(credential)) trust_no_authority();
  session::Hello hello{words.host, std::string(version), std::string(to_string(words.agent_options.engine)),
                       words.nics};
  if (words.agent_options.engine == EngineKind::automatic) hello.offers = offers_of(words.nics, kDevices);
  WEFT_TRY(const auto packets, choose_packet_class(words.agent_options.packets, environment));
  const auto prepare = [&]() -> session::RunHost {
    const auto inventory = inventory_of(words);
    return {near_nics(engines_for(words, parts, packets, hello.offers, inventory), inventory), inventory};
  };
  if (!words.agent_options.standing_for.empty())
    return serve_standing(words, credential, hello, prepare, packets, parts, stop);
  WEFT_TRY(const auto bus, bus::connect_nats({words.server, credential}, words.run, words.host));
  return run_agent(*bus, hello, prepare, std::move(stop), parts.life);
}

Result<void> serve_agents(std::span<const AgentSeat> seats, std::string_view version, const AgentParts& parts,
                          const Environment& environment, std::stop_token stop) {
  if (seats.size() == 1) return serve_agent(seats[0], version, parts, environment, std::move(stop));
  std::stop_source all;
  const std::stop_callback told(stop, [&] { all.request_stop(); });
  std::vector<Result<void>> served(seats.size());
  const auto serve = [&](std::size_t i) {
    const auto& fabric = seats[i].words.agent_options.standing_for;
    AgentParts own = parts;
    own.say = [&](const std::string& line) { parts.say(fabric + ": " + line); };
    own.went_round = [&, i](std::size_t) { parts.went_round(i); };
    if (own.labels.refused.empty())
      own.labels.refused = "this agent serves several fabrics, and a directory of jobs has the labels of one";
    served[i] = serve_agent(seats[i], version, own, environment, all.get_token());
    if (!served[i]) served[i] = pass_on(served[i], fabric);
    all.request_stop();
  };
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < seats.size(); ++i) threads.emplace_back(serve, i);
  }
  const auto failed = std::ranges::find_if(served, [](const auto& one) { return !one; });
  return failed == served.end() ? Result<void>() : *failed;
}

}  // namespace weft::run
