// What those who share a blacklist have of a fabric's bus: the log of its changes, in a stream of its own,
// and the lease of who applies it. The log and the lease may be used by a thread each.
#pragma once

#include <memory>
#include <string>

#include "collectors/bus/nats_bus.hpp"
#include "collectors/bus/watch_streams.hpp"
#include "probes/watch/seams.hpp"

namespace weft::bus {

struct LedgerLink {
  std::unique_ptr<watch::ChangeLog> log;
  std::unique_ptr<watch::Lease> lease;
};

struct LedgerLinkOptions {
  std::string name = "watcher";  // as which watcher it logs in
  Nanoseconds lease_time = std::chrono::seconds(6);
  StreamLimits limits = {};
};

/// Makes what the server lacks. Errors: those of connect_watch_link.
Result<LedgerLink> connect_ledger_link(const NatsAddress& address, const std::string& fabric,
                                       const LedgerLinkOptions& options = {});

}  // namespace weft::bus
