// The credential file of a standing agent, a watcher or an operator: where the bus is, as whom to log in
// there, and the key for it. A secret: a file that others may read or change is refused.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectors/bus/nats_bus.hpp"
#include "collectors/bus/watch_streams.hpp"
#include "topology/base/ip.hpp"

namespace weft::bus {

struct BusFile {
  std::string url;     // tls://ADDRESS:PORT
  std::string fabric;  // its name
  std::string name;    // a host's, a watcher's or an operator's
  BusKey key;
  std::optional<BusKey> runs =
      std::nullopt;  // of a watcher or operator: by which it coordinates runs of agents
  std::optional<StreamLimits> limits = std::nullopt;  // of a watcher, which makes the streams
  std::vector<IpAddress> nics = {};  // of a host, from which it probes; none: its agent is told
  bool steers = false;               // of an operator, who may give labels to jobs and sweep
  NatsAddress address() const { return {url, key}; }
  NatsAddress address_for_runs() const { return {url, runs.value_or(key)}; }
  friend bool operator==(const BusFile&, const BusFile&) = default;
};

/// One JSON object and a line's end.
std::string bus_file_text(const BusFile& file);
/// `where`: its name, for errors, which quote no value that may be secret. Error: invalid_input.
Result<BusFile> parse_bus_file(std::string_view text, std::string_view where);
/// Errors: not_found; permission (it belongs to another user, or others may read or change it: with what
/// mends it); those of parse_bus_file.
Result<BusFile> read_bus_file(const std::filesystem::path& path);

}  // namespace weft::bus
