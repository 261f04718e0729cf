// The words on an agent's command line, as weft writes and reads them. The bus credential is never among
// them: an agent reads it from its input (one line), or finds it in the environment.
#pragma once

#include <string>
#include <vector>

#include "cli/packet_class.hpp"
#include "probes/session/messages.hpp"
#include "probes/wire/transfer_buffer.hpp"

namespace weft {

inline constexpr const char* kBusTokenVariable = "WEFT_BUS_TOKEN";

inline constexpr const char* kByCoordinator = "nats";
inline constexpr const char* kByAddress = "rdmacm";
/// Error: usage, where it is neither.
Result<std::string> check_exchange(const std::string& given);
void add_exchange_option(po::options_description& options);

inline constexpr const char* kHostMemory = "host";
inline constexpr const char* kGpuMemory = "gpu";
/// Whose memory flows move. Error: usage, where it is neither.
Result<std::string> read_memory(const po::variables_map& values);
void add_memory_option(po::options_description& options);

struct AgentWords {
  std::string server;  // nats://HOST:PORT
  RunId run;
  std::string host;
  std::vector<NicReport> nics;
  std::string engine = "raw";   // or umad, ibsim
  bool token_on_stdin = true;   // else in kBusTokenVariable
  bool shares_machine = false;  // with other hosts: a lab
  PacketClass packets = {};
  std::string exchange = kByCoordinator;  // how queue pairs find their peers
  std::string memory = kHostMemory;       // that their flows move
};

std::vector<std::string> agent_arguments(const AgentWords& words);

/// `weft agent`, with `memory` for what is the host's; agent_command takes just that.
int run_agent_command(const std::vector<std::string>& arguments, const BufferFactory& memory);

}  // namespace weft
