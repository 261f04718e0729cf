// A nats-server of our own, for one run: a login for each participant that lets it speak in its own name
// alone, and TLS with a certificate made for the run. Ended with the object, and its files with it.
#pragma once

#include <map>

#include "collectors/bus/nats_bus.hpp"
#include "probes/run/listen_address.hpp"
#include "topology/os/child_process.hpp"
#include "topology/os/scratch_directory.hpp"

namespace weft::run {

class NatsServer {
 public:
  /// For the coordinator and these hosts. Listens in the network namespace of the calling thread. Errors:
  /// absent (no nats-server installed, or it ended at once: with its own words), timeout, usage (a host's
  /// name that no host may have: bus_users).
  static Result<NatsServer> start(const ListenAddress& listen, RunId run,
                                  const std::vector<std::string>& hosts);
  /// As `participant` finds it: kCoordinator, or one of the hosts.
  const bus::NatsAddress& address_for(std::string_view participant) const;

 private:
  using Addresses = std::map<std::string, bus::NatsAddress, std::less<>>;
  NatsServer(os::ScratchDirectory scratch, os::ChildProcess child, Addresses addresses)
      : scratch_(std::move(scratch)), child_(std::move(child)), addresses_(std::move(addresses)) {}

  os::ScratchDirectory scratch_;
  os::ChildProcess child_;
  Addresses addresses_;
};

}  // namespace weft::run
