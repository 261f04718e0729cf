// The files of a bus that stands for long: what nats-server starts from, and a credential for each host and
// watcher.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "topology/base/result.hpp"

namespace weft::bus {

struct BusSpec {
  std::string fabric;
  std::vector<std::string> hosts;
  unsigned watchers = 1;
  std::string address;  // as agents reach it; [::1] in brackets
  std::uint16_t port = 4222;
};

/// Relative to the directory.
inline constexpr const char* kServerFolder = "server";
inline constexpr const char* kServerConfig = "server/nats-server.conf";
inline constexpr const char* kHostFolder = "hosts";
inline constexpr const char* kWatcherFolder = "watchers";

/// watcher, watcher2, ...
std::vector<std::string> watcher_names(unsigned count);

/// Makes `directory` with all in it, or nothing; the configuration names its files where they are now.
/// Errors: conflict (it is there and not empty), usage (a name that no file or subject can have, or two of
/// one name), permission or absent (it cannot be written).
Result<void> write_bus_files(const std::filesystem::path& directory, const BusSpec& spec);

}  // namespace weft::bus
