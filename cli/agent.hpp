// The words on an agent's command line, as weft writes and reads them. The bus credential is never among
// them: an agent reads it from its input (one line), or finds it in the environment.
#pragma once

#include <string>
#include <vector>

#include "cli/agent_manner.hpp"
#include "probes/session/messages.hpp"
#include "probes/wire/transfer_buffer.hpp"

namespace weft {

inline constexpr const char* kBusTokenVariable = "WEFT_BUS_TOKEN";

struct AgentWords {
  std::string server;  // nats://HOST:PORT
  RunId run;
  std::string host;
  std::vector<NicReport> nics;
  bool token_on_stdin = true;   // else in kBusTokenVariable
  bool shares_machine = false;  // with other hosts: a lab
  AgentManner manner = {};
};

std::vector<std::string> agent_arguments(const AgentWords& words);

/// `weft agent`, with `memory` for what is the host's; agent_command takes just that.
int run_agent_command(const std::vector<std::string>& arguments, const BufferFactory& memory);

}  // namespace weft
