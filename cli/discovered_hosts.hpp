// The hosts that --hosts names, and their NICs as they tell them themselves.
#pragma once

#include <chrono>
#include <optional>
#include <stop_token>

#include "cli/options.hpp"
#include "probes/discover/host_nics.hpp"
#include "probes/run/cluster.hpp"
#include "topology/files/cable_list.hpp"

namespace weft::cli {

/// When asking ends at the latest, answered or not.
struct AskingEnd {
  std::stop_token stop;
  std::optional<std::chrono::steady_clock::time_point> until = std::nullopt;
};

struct AskedHosts {
  std::vector<discover::HostNics> hosts;  // those that told of a NIC at least
  std::vector<std::string> troubles;      // the others, and why
};

/// Runs `weft topology show --nics -o json` on each, all at once, by the launcher; a host that has not
/// answered within --gather is one of the troubles. Error: --subnet cannot be read, none answered, stopped.
Result<AskedHosts> ask_for_nics(const run::ClusterOptions& launch, const std::vector<std::string>& names,
                                const po::variables_map& values, const AskingEnd& end);

struct AskedTables {
  std::vector<files::CableList> lists;  // of NICs that take part alone
  std::vector<std::string> notes;       // hosts that gave none, and why
};

/// Runs `lldpcli -f json0 show neighbors` on each: what the hosts hear of the switches that they are at. That
/// a host has no lldpd is a note. Error: stopped, or the launcher is not on this machine.
Result<AskedTables> ask_for_lldp(const run::ClusterOptions& launch,
                                 const std::vector<discover::HostNics>& hosts, const AskingEnd& end);

/// `weft topology show --nics`.
int show_nics(const std::string& format);

}  // namespace weft::cli
