// The words on an agent's command line, as weft writes and reads them. The bus credential is never among
// them: an agent reads it from its input (one line), or finds it in the environment.
#pragma once

#include <string>
#include <vector>

#include "cli/agent_options.hpp"
#include "cli/compose.hpp"
#include "probes/session/messages.hpp"

namespace weft {

inline constexpr const char* kBusTokenVariable = "WEFT_BUS_TOKEN";

struct AgentWords {
  std::string server;  // nats://HOST:PORT
  RunId run;
  std::string host;
  std::vector<NicReport> nics;
  bool token_on_stdin = true;   // else in kBusTokenVariable
  bool shares_machine = false;  // with other hosts: a lab
  AgentOptions agent_options = {};
};

std::vector<std::string> agent_arguments(const AgentWords& words);

/// What an agent makes of its host; agent_command's is the host's own.
struct AgentParts {
  BufferFactory memory = host_memory;
  OpenVerbsEngine open_verbs = verbs_of_host();
  OpenMads open_mads = mads_of_host();
};
int run_agent_command(const std::vector<std::string>& arguments, const AgentParts& parts);

}  // namespace weft
