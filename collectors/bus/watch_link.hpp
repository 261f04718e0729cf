// The end of a watcher on the bus: the windows of all agents, the events of incidents, the lease, the values
// that watchers share. All over one connection, which is made again when it ends. The parts may be used by a
// thread each.
#pragma once

#include <memory>
#include <string>

#include "collectors/bus/nats_bus.hpp"
#include "collectors/bus/watch_streams.hpp"
#include "probes/watch/seams.hpp"

namespace weft::bus {

struct WatchLink {
  std::unique_ptr<watch::WindowFeed> feed;
  std::unique_ptr<watch::EventLog> events;
  std::unique_ptr<watch::Lease> lease;
  std::shared_ptr<watch::SharedValue> values;
};

struct WatchLinkOptions {
  std::string name = "watcher";      // as which this watcher logs in
  std::uint64_t windows_behind = 0;  // the feed begins behind this sequence; 0: with all that is kept
  Nanoseconds lease_time = std::chrono::seconds(3);
  StreamLimits limits = {};
};

/// Makes what the server lacks (ensure_streams). Errors: absent (no server, JetStream without room),
/// permission (it refuses the credential), not_supported (JetStream is off), invalid_input (a name).
Result<WatchLink> connect_watch_link(const NatsAddress& address, const std::string& fabric,
                                     const WatchLinkOptions& options = {});

}  // namespace weft::bus
