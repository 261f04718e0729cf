// A nats-server of our own with JetStream, for standing agents and a watcher on one machine or in a lab; its
// users may also take part in runs. One that stands for long is configured by `weft bus init`.
#pragma once

#include <string>
#include <vector>

#include "probes/run/nats_server.hpp"

namespace weft::run {

/// Participants: kWatcher, the hosts, and kCoordinator, for runs with them. Errors: those of
/// NatsServer::start.
Result<NatsServer> start_watch_server(const ListenAddress& listen, const std::string& fabric,
                                      const std::vector<std::string>& hosts,
                                      const JetStreamSpec& jet_stream = {});

}  // namespace weft::run
