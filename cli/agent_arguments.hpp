// The options of commands that say how agents work.
#pragma once

#include "cli/options.hpp"
#include "probes/run/agent_options.hpp"

namespace weft::cli {

/// All but the engine, whose choice is a command's own: --dpdk-args, --exchange, --memory, --probe-transport
/// and the class of packets.
void add_agent_options(po::options_description& options);
/// Those options, once `into` has the engine. Error: usage, naming the option and what it takes.
Result<void> read_agent_options(const po::variables_map& values, run::AgentOptions& into);

// --dpdk-args; empty where it is not given. Error: usage, also where `engine` has no use for it.
void add_dpdk_option(po::options_description& options);
Result<std::string> read_dpdk_arguments(const po::variables_map& values, run::EngineKind engine);

// For a command that has the first alone.
void add_exchange_option(po::options_description& options);
Result<run::ExchangeBy> read_exchange(const po::variables_map& values);

/// --engine and --probe-transport of agents that a watch starts on a RoCE fabric. Errors: usage.
void add_standing_options(po::options_description& options);
Result<run::AgentOptions> read_standing_options(const po::variables_map& values);
/// Where agents stand already, and on InfiniBand, nobody asks for these.
Result<void> refuse_standing_options(const po::variables_map& values, const char* why);

/// --engine of a sweep; absent: "auto". Error: usage (not raw, dpdk, verbs or umad).
Result<std::optional<run::EngineKind>> read_engine(const po::variables_map& values);

}  // namespace weft::cli
