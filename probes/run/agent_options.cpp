#include "probes/run/agent_options.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace weft::run {
namespace {

template <class T>
using Words = std::vector<std::pair<T, std::string_view>>;

const Words<EngineKind> kEngines{{EngineKind::raw, "raw"},     {EngineKind::dpdk, "dpdk"},
                                 {EngineKind::verbs, "verbs"}, {EngineKind::umad, "umad"},
                                 {EngineKind::ibsim, "ibsim"}, {EngineKind::automatic, session::kAnyEngine}};
const Words<ExchangeBy> kExchanges{{ExchangeBy::coordinator, "nats"}, {ExchangeBy::address, "rdmacm"}};
const Words<MemoryOf> kMemories{{MemoryOf::host, "host"}, {MemoryOf::gpu, "gpu"}};

template <class T>
std::string_view word_of(const Words<T>& words, T value) {
  const auto at = std::ranges::find(words, value, &Words<T>::value_type::first);
  return at == words.end() ? "" : at->second;
}

template <class T>
std::optional<T> value_of(const Words<T>& words, std::string_view word) {
  const auto found = std::ranges::find(words, word, &Words<T>::value_type::second);
  return found == words.end() ? std::nullopt : std::optional(found->first);
}

}  // namespace

std::string_view to_string(EngineKind engine) { return word_of(kEngines, engine); }
std::string_view to_string(ExchangeBy exchange) { return word_of(kExchanges, exchange); }
std::string_view to_string(MemoryOf memory) { return word_of(kMemories, memory); }
std::optional<EngineKind> parse_engine(std::string_view word) { return value_of(kEngines, word); }
std::optional<ExchangeBy> parse_exchange(std::string_view word) { return value_of(kExchanges, word); }
std::optional<MemoryOf> parse_memory(std::string_view word) { return value_of(kMemories, word); }

std::vector<std::string> agent_option_words(const AgentOptions& agent_options) {
  std::vector<std::string> words;
  const auto add = [&](const char* name, std::string_view value) {
    words.insert(words.end(), {name, std::string(value)});
  };
  add("--engine", to_string(agent_options.engine));
  if (!agent_options.dpdk_args.empty()) words.push_back("--dpdk-args=" + agent_options.dpdk_args);
  if (agent_options.exchange != ExchangeBy::coordinator) add("--exchange", to_string(agent_options.exchange));
  if (agent_options.memory != MemoryOf::host) add("--memory", to_string(agent_options.memory));
  if (agent_options.probes != datapath::ProbeTransport::by_device)
    add("--probe-transport", to_string(agent_options.probes));
  if (!agent_options.standing_for.empty()) {
    words.push_back("--standing");
    add("--fabric", agent_options.standing_for);
  }
  const auto add_number = [&](const char* name, const auto& value) {
    if (value) add(name, std::to_string(*value));
  };
  add_number("--traffic-class", agent_options.packets.traffic_class);
  add_number("--service-level", agent_options.packets.service_level);
  add_number("--gid-index", agent_options.packets.gid_index);
  return words;
}

std::vector<std::string> agent_arguments(const AgentWords& words) {
  std::vector<std::string> arguments{
      "agent",  "--server", words.server, "--run", fmt::format("{:x}", words.run.value()),
      "--host", words.host};
  if (words.token_on_stdin) arguments.push_back("--token-stdin");
  if (words.shares_machine) arguments.push_back("--shared-machine");
  std::ranges::move(agent_option_words(words.agent_options), std::back_inserter(arguments));
  for (const session::NicReport& nic : words.nics) {
    arguments.push_back("--nic");
    const auto address = to_string(nic.address);
    arguments.push_back(nic.interface == address ? address : nic.interface + "=" + address);
  }
  return arguments;
}

}  // namespace weft::run
