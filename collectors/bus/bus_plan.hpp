// Who is at a bus that stands for long, and by which public keys: what the server's configuration is made of,
// again with each host or key that comes or goes. It holds no secret. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "collectors/bus/watch_streams.hpp"
#include "probes/session/bus_permissions.hpp"
#include "topology/base/ip.hpp"
#include "topology/base/result.hpp"

namespace weft::bus {

/// Relative to the directory of a bus.
inline constexpr const char* kPlanFile = "bus.json";
inline constexpr const char* kAuthority = "authority.pem";  // who signs the server's certificate
inline constexpr const char* kServerFolder = "server";
inline constexpr const char* kServerConfig = "server/nats-server.conf";
inline constexpr const char* kServerCertificate = "server/certificate.pem";
inline constexpr const char* kServerKey = "server/key.pem";
inline constexpr const char* kHostFolder = "hosts";
inline constexpr const char* kWatcherFolder = "watchers";
inline constexpr const char* kOperatorFolder = "operators";

/// Of a fabric, a host, a watcher or an operator; it is also the name of a file. Error: usage.
Result<void> check_bus_name(std::string_view name);

/// One whom the server lets in. Several keys, the newest last: while a new one is carried to its machine.
struct BusMember {
  std::vector<std::string> keys;      // public ones
  std::vector<std::string> run_keys;  // of a watcher: by which it coordinates runs
  std::vector<IpAddress> nics;        // of a host: from which it probes; none: its agent is told
  friend bool operator==(const BusMember&, const BusMember&) = default;
};
using BusMembers = std::map<std::string, BusMember>;

struct BusPlan {
  std::string fabric;
  std::string address;  // as agents reach it; [::1] in brackets
  std::uint16_t port = 0;
  std::string server_name;  // that the server's certificate is of
  std::uint64_t bytes = 0;  // what the server may keep on disk: it does not change while it runs
  StreamLimits limits;      // of the streams, which the first watcher makes
  BusMembers hosts;
  BusMembers watchers;
  BusMembers operators = {};  // who may give labels to jobs
  friend bool operator==(const BusPlan&, const BusPlan&) = default;
};

/// As plan.*members_of(account).
BusMembers BusPlan::*members_of(session::BusAccount account);
inline constexpr std::array kBusAccounts{session::BusAccount::agents, session::BusAccount::watchers,
                                         session::BusAccount::operators};

inline constexpr std::size_t kMaxBusPlan = 32 << 20;  // bytes: 65,536 hosts with several keys each

std::string bus_plan_text(const BusPlan& plan);
/// `where`: its name, for errors. Error: invalid_input.
Result<BusPlan> parse_bus_plan(std::string_view text, std::string_view where);

/// The configuration of a server whose files stand in `directory`. Error: usage, as watch_users has it.
Result<std::string> server_config_of(const BusPlan& plan, const std::filesystem::path& directory);

/// Disk for so many hosts, and streams of that size.
StreamLimits stream_limits_for(std::size_t hosts);
std::uint64_t bytes_for(const StreamLimits& limits);

}  // namespace weft::bus
