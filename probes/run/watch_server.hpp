// A nats-server of our own with JetStream, for standing agents and a watcher on one machine or in a lab; its
// users may also take part in runs. One that stands for long is configured by `weft bus init`.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "probes/run/nats_server.hpp"

namespace weft::run {

/// Participants: kWatcher, the hosts, and kCoordinator, for runs with them. Errors: those of
/// NatsServer::start.
Result<NatsServer> start_watch_server(const ListenAddress& listen, const std::string& fabric,
                                      const std::vector<std::string>& hosts,
                                      const JetStreamSpec& jet_stream = {});

/// Starts a server again that ended by itself, at the same address and with its streams; one that does not
/// stay is given up. The server outlives it. Not thread-safe.
class KeptServer {
 public:
  explicit KeptServer(NatsServer& server) : server_(server) {}

  /// Call it some times a second. What it did about the server, in words; absent: it runs. Error: absent,
  /// it ended five times within a minute, or could not be started so often.
  Result<std::optional<std::string>> tend(Nanoseconds now);

 private:
  NatsServer& server_;
  std::deque<Nanoseconds> tries_;  // of the last minute
};

}  // namespace weft::run
