// How all agents of a run work: what a command is told, what a site keeps and what an agent's command line
// says are the same.
#pragma once

#include <string>
#include <vector>

#include "cli/packet_class.hpp"
#include "probes/datapath/probe_transport.hpp"

namespace weft {

inline constexpr const char* kByCoordinator = "nats";
inline constexpr const char* kByAddress = "rdmacm";
inline constexpr const char* kHostMemory = "host";
inline constexpr const char* kGpuMemory = "gpu";

struct AgentOptions {
  std::string engine = "raw";                         // or verbs, umad, ibsim
  PacketClass packets = {};                           // as asked for
  std::string exchange = kByCoordinator;              // how queue pairs find their peers
  std::string memory = kHostMemory;                   // that their flows move
  ProbeTransport probes = ProbeTransport::by_device;  // by which queue pairs
};

/// All but the engine, whose choice is a command's own: --exchange, --memory, --probe-transport and the class
/// of packets.
void add_agent_options(po::options_description& options);
/// Those options. Error: usage.
Result<void> read_agent_options(const po::variables_map& values, AgentOptions& into);
/// As an agent's command line has it, the engine included.
std::vector<std::string> agent_option_words(const AgentOptions& agent_options);

// For a command that has the first alone.
void add_exchange_option(po::options_description& options);
Result<std::string> read_exchange(const po::variables_map& values);

}  // namespace weft
