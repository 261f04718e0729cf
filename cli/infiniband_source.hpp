// Where a command reads an InfiniBand fabric from: a port of this host, a lab, or a dump in a file.
#pragma once

#include <memory>

#include "cli/options.hpp"
#include "probes/discover/subnet_firmware.hpp"
#include "probes/discover/subnet_tables.hpp"

namespace weft::cli {

/// --device, --port: what a subnet is asked through.
void add_subnet_options(po::options_description& options);
/// Error: usage, where one of them is given although no live subnet is asked.
Result<void> refuse_subnet_options(const po::variables_map& values);
/// The management datagrams of the port that they name.
Result<std::unique_ptr<mad::Mads>> open_subnet(const po::variables_map& values);

/// These, or a lab, or a dump; and how it is asked.
void add_infiniband_options(po::options_description& options);

Result<mad::MadLimits> mad_limits(const po::variables_map& values);
Result<IbNodeNames> node_names(const po::variables_map& values);

/// The subnet of the options: a dump's, else discovered. `name` names the fabric; `words` are those of the
/// program, with which it starts itself again to reach a lab.
struct FoundFabric {
  InfinibandFabric fabric;
  discover::FirmwareReading firmware;  // where it was asked for, and not of a dump
  mad::MadTally tally;                 // of a discovery
  Nanoseconds took{};
};
Result<FoundFabric> find_fabric(const po::variables_map& values, const std::string& name,
                                const Arguments& words, bool with_firmware = false);

/// The same with every switch's forwarding table; a dump has none.
struct FoundRoutes {
  InfinibandFabric fabric;
  discover::TableReading tables;
  std::optional<std::string> engine;  // that a lab's OpenSM says it ran; elsewhere nobody tells
};
Result<FoundRoutes> find_routes(const po::variables_map& values, const Arguments& words);

}  // namespace weft::cli
