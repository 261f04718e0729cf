// NatsBus: a participant's end of the bus over a NATS server. Messages of a run go over subjects
// weft.RUN.TO.FROM; longer ones than the server takes at once travel in parts. The connection is tried again
// for a few seconds when it breaks; after that receive() gives the error.
#pragma once

#include <memory>
#include <string>

#include "probes/session/bus.hpp"
#include "topology/base/ids.hpp"

namespace weft {

struct NatsAddress {
  std::string url;    // nats://HOST:PORT
  std::string token;  // the server's credential
};

/// `self`: this participant's name: a host's, or kCoordinator. Errors: timeout or absent (no server answers
/// at the url), permission (the server refuses the token).
Result<std::unique_ptr<Bus>> connect_nats(const NatsAddress& address, RunId run, const std::string& self);

}  // namespace weft
