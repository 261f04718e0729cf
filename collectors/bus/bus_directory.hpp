// The directory of a bus that stands for long: what nats-server starts from, a credential for each host,
// watcher and operator, and the plan by which hosts and keys come and go. With each change new credentials
// are written and the configuration is made again; the server takes it when it is told to reload (SIGHUP).
// Who is not named keeps the keys that there are. One writer at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "collectors/bus/bus_plan.hpp"
#include "collectors/bus/site_certificate.hpp"
#include "topology/base/ip.hpp"
#include "topology/base/result.hpp"

namespace weft::bus {

/// From which addresses each host probes; hosts that are not there are told elsewhere.
using NicsOfHosts = std::map<std::string, std::vector<IpAddress>>;

struct BusSpec {
  std::string fabric;
  std::vector<std::string> hosts;
  unsigned watchers = 1;
  std::string address;  // as agents reach it; [::1] in brackets
  std::uint16_t port = 4222;
  NicsOfHosts nics = {};
  std::optional<SiteCertificate> site = std::nullopt;  // absent: one is made that nobody else trusts
  unsigned operators = 0;                              // who may give labels to jobs
};

/// Makes `directory` with all in it, or nothing; the configuration names its files where they are now.
/// Errors: conflict (it is there and not empty), usage (a name that no file or subject can have, or two of
/// one name), permission or absent (it cannot be written), those of server_name_of.
Result<void> write_bus_directory(const std::filesystem::path& directory, const BusSpec& spec);

/// Error: not_found (no directory of 'weft bus init', or one of an older weft), those of parse_bus_plan.
Result<BusPlan> read_bus_plan(const std::filesystem::path& directory);

/// Credentials for hosts that were not there. Errors: conflict (a host that is there), usage (a name).
Result<void> add_hosts(const std::filesystem::path& directory, const std::vector<std::string>& hosts,
                       const NicsOfHosts& nics);

/// As many operators in all: credentials for those that were not there.
Result<void> add_operators(const std::filesystem::path& directory, unsigned count);

/// One key more for each of these hosts, watchers and operators, and a credential with it; the older keys
/// hold until they are dropped. `nics`: of hosts whose NICs are others now. Errors: not_found (a name that is
/// not there), conflict (it has many keys already).
Result<void> renew_keys(const std::filesystem::path& directory, const std::vector<std::string>& names,
                        const NicsOfHosts& nics = {});

enum class Dropped : std::uint8_t { older_keys, all_keys };
/// Older keys: all but the newest of each. All: who is named is there no more. Errors: not_found,
/// usage (the last watcher).
Result<void> drop_keys(const std::filesystem::path& directory, const std::vector<std::string>& names,
                       Dropped what);

}  // namespace weft::bus
