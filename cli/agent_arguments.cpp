#include "cli/agent_arguments.hpp"

#include "probes/run/engines.hpp"

namespace weft::cli {
namespace {

Result<run::MemoryOf> read_memory(const po::variables_map& values) {
  const auto given = text_option(values, "memory");
  if (!given) return run::MemoryOf::host;
  const auto memory = run::parse_memory(*given);
  if (!memory) return fail(ErrorKind::usage, "--memory {}: expected host or gpu", *given);
  return *memory;
}

Result<datapath::ProbeTransport> read_probe_transport(const po::variables_map& values) {
  if (!values.count("probe-transport")) return datapath::ProbeTransport::by_device;
  const auto given = values["probe-transport"].as<std::string>();
  const auto wish = datapath::parse_probe_transport(given);
  if (!wish) return fail(ErrorKind::usage, "--probe-transport {}: expected auto, ud or uc", given);
  return *wish;
}

void add_memory_option(po::options_description& options) {
  options.add_options()(
      "memory", po::value<std::string>()->value_name("host|gpu"),
      "what flows of queue pairs move: memory of the host, or of the gpu nearest to each NIC "
      "(GPUDirect RDMA where driver and NIC can, else a staged copy; default host)");
}

void add_probe_transport_option(po::options_description& options) {
  options.add_options()(
      "probe-transport", po::value<std::string>()->value_name("auto|ud|uc"),
      "probes of queue pairs: ud (datagrams, one queue pair for all labels), uc (unreliable "
      "connections, one a label) or auto (ud where the NIC is known to label datagrams, "
      "else uc; the default)");
}

template <class T>
Result<void> read_number(const po::variables_map& values, const char* name, std::uint32_t highest,
                         std::optional<T>& place) {
  if (!values.count(name)) return {};
  const auto number = values[name].as<std::uint32_t>();
  if (number > highest) return fail(ErrorKind::usage, "--{} {}: expected 0 to {}", name, number, highest);
  place = static_cast<T>(number);
  return {};
}

void add_packet_class_options(po::options_description& options) {
  options.add_options()(
      "traffic-class", po::value<std::uint32_t>()->value_name("N"),
      "the traffic class of all packets, 0 to 255: four times the DSCP (default: the hosts' "
      "NCCL_IB_TC, else 0)")(
      "service-level", po::value<std::uint32_t>()->value_name("N"),
      "the service level of queue pairs, 0 to 15 (default: the hosts' NCCL_IB_SL, else 0)")(
      "gid-index", po::value<std::uint32_t>()->value_name("N"),
      "the GID that queue pairs go by (default: the hosts' NCCL_IB_GID_INDEX, else the RoCE v2 GID of the "
      "NIC's address)");
}

Result<run::PacketClass> read_packet_class(const po::variables_map& values) {
  run::PacketClass wanted;
  WEFT_TRY_VOID(read_number(values, "traffic-class", run::kMaxTrafficClass, wanted.traffic_class));
  WEFT_TRY_VOID(read_number(values, "service-level", run::kMaxServiceLevel, wanted.service_level));
  WEFT_TRY_VOID(read_number(values, "gid-index", run::kMaxGidIndex, wanted.gid_index));
  return wanted;
}

}  // namespace

void add_standing_options(po::options_description& options) {
  options.add_options()(
      "engine", po::value<std::string>()->value_name("raw|verbs"),
      "what the agents that this watch starts probe by: raw packets, or queue pairs of RDMA devices "
      "(default: raw; a lab of guests: verbs)");
  add_probe_transport_option(options);
}

Result<run::AgentOptions> read_standing_options(const po::variables_map& values) {
  run::AgentOptions options;
  const auto given = text_option(values, "engine").value_or("raw");
  if (given != "raw" && given != "verbs")
    return fail(ErrorKind::usage, "--engine {}: expected raw or verbs", given);
  options.engine = *run::parse_engine(given);
  WEFT_TRY(options.probes, read_probe_transport(values));
  return options;
}

Result<void> refuse_standing_options(const po::variables_map& values, const char* why) {
  for (const char* name : {"engine", "probe-transport"})
    if (values.count(name)) return fail(ErrorKind::usage, "--{}: {}", name, why);
  return {};
}

void add_dpdk_option(po::options_description& options) {
  options.add_options()("dpdk-args", po::value<std::string>()->value_name("TEXT"),
                        "what DPDK is started with: --dpdk-args='--no-huge "
                        "--vdev=net_af_packet0,iface={interface}' (the default of "
                        "--engine dpdk; {interface} stands for that of each NIC)");
}

Result<std::string> read_dpdk_arguments(const po::variables_map& values, run::EngineKind engine) {
  const auto given = text_option(values, "dpdk-args").value_or("");
  if (!given.empty() && engine != run::EngineKind::dpdk && engine != run::EngineKind::automatic)
    return fail(ErrorKind::usage, "--dpdk-args is of DPDK: it needs --engine dpdk, or auto on a RoCE fabric");
  WEFT_TRY_VOID(run::check_dpdk_arguments(given));
  return given;
}

Result<run::ExchangeBy> read_exchange(const po::variables_map& values) {
  const auto given = values["exchange"].as<std::string>();
  const auto exchange = run::parse_exchange(given);
  if (!exchange) return fail(ErrorKind::usage, "--exchange {}: expected nats or rdmacm", given);
  return *exchange;
}

void add_exchange_option(po::options_description& options) {
  options.add_options()(
      "exchange",
      po::value<std::string>()
          ->value_name("nats|rdmacm")
          ->default_value(std::string(to_string(run::ExchangeBy::coordinator))),
      "how queue pairs find their peers: nats (by way of the coordinator) or rdmacm (by address)");
}

void add_agent_options(po::options_description& options) {
  add_dpdk_option(options);
  add_packet_class_options(options);
  add_exchange_option(options);
  add_memory_option(options);
  add_probe_transport_option(options);
}

Result<void> read_agent_options(const po::variables_map& values, run::AgentOptions& into) {
  WEFT_TRY(const auto packets, read_packet_class(values));
  WEFT_TRY(const auto exchange, read_exchange(values));
  WEFT_TRY(const auto memory, read_memory(values));
  WEFT_TRY(const auto probes, read_probe_transport(values));
  WEFT_TRY(into.dpdk_args, read_dpdk_arguments(values, into.engine));
  into.packets = packets;
  into.exchange = exchange;
  into.memory = memory;
  into.probes = probes;
  return {};
}

Result<std::optional<run::EngineKind>> read_engine(const po::variables_map& values) {
  const auto given = values["engine"].as<std::string>();
  if (given == "auto") return std::nullopt;
  const auto engine = run::parse_engine(given);
  if (!engine || *engine == run::EngineKind::ibsim)
    return fail(ErrorKind::usage, "--engine {}: expected auto, raw, dpdk, verbs or umad", given);
  return engine;
}

}  // namespace weft::cli
