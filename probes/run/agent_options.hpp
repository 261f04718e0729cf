// How all agents of a run work: what a command is told, what a site keeps and what an agent's command line
// says are the same. Pure: cli/agent_arguments reads these from a command's options.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "probes/datapath/probe_engine.hpp"
#include "probes/run/packet_class.hpp"
#include "probes/session/messages.hpp"

namespace weft::run {

/// What sends an agent's packets. `automatic`: queue pairs or packets of our own, as the run says by what the
/// NICs have, or where it does not say, as the NIC has; packets go by DPDK where it is told which device to
/// take.
enum class EngineKind : std::uint8_t { raw, dpdk, verbs, umad, ibsim, automatic };
/// How queue pairs find their peers: by way of the coordinator ("nats"), or by address ("rdmacm").
enum class ExchangeBy : std::uint8_t { coordinator, address };
/// Whose memory the flows of queue pairs move.
enum class MemoryOf : std::uint8_t { host, gpu };

// As the command line has them; absent: none of these words.
std::string_view to_string(EngineKind engine);
std::string_view to_string(ExchangeBy exchange);
std::string_view to_string(MemoryOf memory);
std::optional<EngineKind> parse_engine(std::string_view word);
std::optional<ExchangeBy> parse_exchange(std::string_view word);
std::optional<MemoryOf> parse_memory(std::string_view word);

struct AgentOptions {
  EngineKind engine = EngineKind::raw;
  PacketClass packets = {};  // as asked for
  ExchangeBy exchange = ExchangeBy::coordinator;
  MemoryOf memory = MemoryOf::host;
  datapath::ProbeTransport probes = datapath::ProbeTransport::by_device;  // by which queue pairs
  std::string dpdk_args = {};                                             // --dpdk-args; empty: none
  /// The fabric that it probes all the time, for its watcher, beside the runs that it serves; empty: none.
  std::string standing_for = {};
};
/// As an agent's command line has it, the engine first.
std::vector<std::string> agent_option_words(const AgentOptions& agent_options);

/// All that an agent's command line says.
struct AgentWords {
  std::string server;  // nats://HOST:PORT
  RunId run;
  std::string host;
  std::vector<session::NicReport> nics;
  bool token_on_stdin = true;   // else in kBusTokenVariable
  bool shares_machine = false;  // with other hosts: a lab
  AgentOptions agent_options = {};
};

/// The bus credential is never among an agent's words: it reads it from its input (one line), or finds it in
/// the environment.
inline constexpr const char* kBusTokenVariable = "WEFT_BUS_TOKEN";

std::vector<std::string> agent_arguments(const AgentWords& words);

}  // namespace weft::run
