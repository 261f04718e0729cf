// A nats-server of our own: with a credential for this run, ended with the object.
#pragma once

#include "cli/listen_address.hpp"
#include "cli/scratch_directory.hpp"
#include "collectors/bus/nats_bus.hpp"
#include "topology/lab/child_process.hpp"

namespace weft {

class NatsServer {
 public:
  /// Listens in the network namespace of the calling thread. Errors: absent (no nats-server installed, or it
  /// ended at once: with its own words), timeout.
  static Result<NatsServer> start(const ListenAddress& listen);
  const NatsAddress& address() const { return address_; }

 private:
  NatsServer(ScratchDirectory scratch, ChildProcess child, NatsAddress address)
      : scratch_(std::move(scratch)), child_(std::move(child)), address_(std::move(address)) {}

  ScratchDirectory scratch_;
  ChildProcess child_;
  NatsAddress address_;
};

}  // namespace weft
