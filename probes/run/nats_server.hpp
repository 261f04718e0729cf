// A nats-server of our own: a login for each participant that lets it speak in its own name alone, and TLS
// with a certificate made for it. For one run, or with JetStream for standing agents and their watcher. Ended
// with the object, and its files with it.
#pragma once

#include <filesystem>
#include <map>
#include <optional>

#include "collectors/bus/nats_bus.hpp"
#include "probes/run/listen_address.hpp"
#include "probes/session/bus_permissions.hpp"
#include "topology/os/child_process.hpp"
#include "topology/os/scratch_directory.hpp"

namespace weft::run {

struct JetStreamSpec {
  std::filesystem::path store = {};  // where the streams are kept; empty: among the files of the server
  std::uint64_t bytes = 2'000'000'000;
};

struct NatsServerSpec {
  ListenAddress listen;
  std::vector<session::BusUser> users;
  std::optional<JetStreamSpec> jet_stream = std::nullopt;
};

class NatsServer {
 public:
  /// For the coordinator and these hosts. Listens in the network namespace of the calling thread. Errors:
  /// absent (no nats-server installed, or it ended at once: with its own words), timeout, usage (a host's
  /// name that no host may have: bus_users).
  static Result<NatsServer> start(const ListenAddress& listen, RunId run,
                                  const std::vector<std::string>& hosts);
  /// The same for these users.
  static Result<NatsServer> start(const NatsServerSpec& spec);
  /// As `participant` finds it: one of the users (kCoordinator, or one of the hosts).
  const bus::NatsAddress& address_for(std::string_view participant) const;

  /// Starts it again after it has ended, with the same files, at the same address. Errors: those of start.
  Result<void> restart();
  os::ChildProcess& child() { return child_; }

 private:
  using Addresses = std::map<std::string, bus::NatsAddress, std::less<>>;
  NatsServer(os::ScratchDirectory scratch, os::ChildProcess child, Addresses addresses)
      : scratch_(std::move(scratch)), child_(std::move(child)), addresses_(std::move(addresses)) {}

  os::ScratchDirectory scratch_;
  os::ChildProcess child_;
  Addresses addresses_;
};

}  // namespace weft::run
