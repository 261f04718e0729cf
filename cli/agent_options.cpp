#include "cli/agent_options.hpp"

#include <algorithm>
#include <iterator>

#include "cli/options.hpp"

namespace weft {
namespace {

Result<std::string> read_memory(const po::variables_map& values) {
  if (!values.count("memory")) return kHostMemory;
  const auto given = values["memory"].as<std::string>();
  if (given == kHostMemory || given == kGpuMemory) return given;
  return fail(ErrorKind::usage, "--memory {}: expected host or gpu", given);
}

Result<ProbeTransport> read_probe_transport(const po::variables_map& values) {
  if (!values.count("probe-transport")) return ProbeTransport::by_device;
  const auto given = values["probe-transport"].as<std::string>();
  const auto wish = parse_probe_transport(given);
  if (!wish) return fail(ErrorKind::usage, "--probe-transport {}: expected auto, ud or uc", given);
  return *wish;
}

void add_memory_option(po::options_description& options) {
  options.add_options()(
      "memory", po::value<std::string>()->value_name("WHOSE"),
      "what flows of queue pairs move: memory of the host, or of the gpu nearest to each NIC "
      "(GPUDirect RDMA where driver and NIC can, else a staged copy; default host)");
}

void add_probe_transport_option(po::options_description& options) {
  options.add_options()(
      "probe-transport", po::value<std::string>()->value_name("HOW"),
      "probes of queue pairs: ud (datagrams, one queue pair for all labels), uc (unreliable "
      "connections, one a label) or auto (ud where the NIC is known to label datagrams, "
      "else uc; the default)");
}

}  // namespace

Result<std::string> read_exchange(const po::variables_map& values) {
  const auto given = values["exchange"].as<std::string>();
  if (given == kByCoordinator || given == kByAddress) return given;
  return fail(ErrorKind::usage, "--exchange {}: expected nats or rdmacm", given);
}

void add_exchange_option(po::options_description& options) {
  options.add_options()(
      "exchange", po::value<std::string>()->value_name("HOW")->default_value(kByCoordinator),
      "how queue pairs find their peers: nats (by way of the coordinator) or rdmacm (by address)");
}

void add_agent_options(po::options_description& options) {
  add_packet_class_options(options);
  add_exchange_option(options);
  add_memory_option(options);
  add_probe_transport_option(options);
}

Result<void> read_agent_options(const po::variables_map& values, AgentOptions& into) {
  const auto packets = read_packet_class(values);
  if (!packets) return pass_on(packets);
  const auto exchange = read_exchange(values);
  if (!exchange) return pass_on(exchange);
  const auto memory = read_memory(values);
  if (!memory) return pass_on(memory);
  const auto probes = read_probe_transport(values);
  if (!probes) return pass_on(probes);
  into.packets = *packets;
  into.exchange = *exchange;
  into.memory = *memory;
  into.probes = *probes;
  return {};
}

std::vector<std::string> agent_option_words(const AgentOptions& agent_options) {
  std::vector<std::string> words{"--engine", agent_options.engine};
  if (agent_options.exchange != kByCoordinator)
    words.insert(words.end(), {"--exchange", agent_options.exchange});
  if (agent_options.memory != kHostMemory) words.insert(words.end(), {"--memory", agent_options.memory});
  if (agent_options.probes != ProbeTransport::by_device)
    words.insert(words.end(), {"--probe-transport", std::string(to_string(agent_options.probes))});
  std::ranges::move(packet_class_words(agent_options.packets), std::back_inserter(words));
  return words;
}

}  // namespace weft
