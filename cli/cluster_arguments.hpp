// The options that tell a command of a live fabric: its file, its hosts, and how agents reach and are
// reached.
#pragma once

#include "cli/options.hpp"
#include "probes/plan/path_learner.hpp"
#include "probes/run/cluster.hpp"

namespace weft::cli {

/// Whether --fan-out asks for a tree. Error: usage.
Result<bool> read_fan_out(const po::variables_map& values);
inline constexpr const char* kFanOutHelp =
    "who reaches them: this machine all of them (flat), or hosts that it reached the next ones by the same "
    "launcher, for which they need a key (tree)";

/// --launcher, --fan-out, --listen, --server, --agent-program, --gather.
void add_launch_options(po::options_description& options);
/// Error: usage, naming the option.
Result<run::ClusterOptions> read_launch_options(const po::variables_map& values);

/// --credential of a command that can do with the agents that stand; it goes without what is asked of agents
/// that are started.
void add_standing_agents_option(OptionParser& parser);
/// The same, where --credential may be given: then the agents that stand in this fabric, and no launcher.
/// Errors: usage; those of read_bus_file.
Result<run::ClusterOptions> read_agents_of(const po::variables_map& values, const Fabric& fabric);

/// A RoCE fabric with addresses, or an InfiniBand one, whose NICs the subnet tells; an Error says what is
/// missing.
Result<files::FabricFile> read_live_fabric(const std::string& path);

/// The hosts that --hosts names (a list, or @FILE); without it, all with an address. Errors: a name that is
/// no host of the fabric, or a host without an address.
Result<std::vector<NodeId>> chosen_hosts(const po::variables_map& values, const files::FabricFile& file);

/// The names of --hosts (a list, or @FILE; it must be given) as they are, of a fabric that is not known yet.
/// Error: usage.
Result<std::vector<std::string>> host_names(const po::variables_map& values);

/// --hosts where nobody has to answer: how many of the fabric's, a list, or @FILE. Error: usage.
Result<std::vector<NodeId>> hosts_of_fabric(const po::variables_map& values, const Fabric& fabric);

/// Probes per second that a switch of a live fabric answers, unless told otherwise: what control-plane
/// policing lets through as a rule.
inline constexpr double kLiveAnswersPerSecond = 100;

/// One line on stderr about hops that answered from addresses the fabric file does not list, where there are
/// any: paths are then less certain than they could be.
void report_strangers(const Fabric& fabric, const plan::PathLearner& learner);

}  // namespace weft::cli
