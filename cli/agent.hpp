// The words on an agent's command line, as weft writes and reads them. The bus credential travels in the
// environment.
#pragma once

#include <string>
#include <vector>

#include "probes/session/messages.hpp"

namespace weft {

inline constexpr const char* kBusTokenVariable = "WEFT_BUS_TOKEN";

struct AgentWords {
  std::string nats_url;
  RunId run;
  std::string host;
  std::vector<NicReport> nics;
  std::string engine = "raw";  // or umad, ibsim
};

std::vector<std::string> agent_arguments(const AgentWords& words);

}  // namespace weft
