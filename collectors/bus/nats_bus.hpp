// NatsBus: a participant's end of the bus over a NATS server. Messages of a run go over subjects
// weft.RUN.TO.FROM; longer ones than the server takes at once travel in parts; the receiver's end
// acknowledges those of deliver() as it puts them among what receive() gives, not those for which it has no
// room. A name is for one participant: of two that share it each hears what is for the other, and
// acknowledges that; what they send is told apart. The connection is tried again for a few seconds when it
// breaks; after that receive() gives the error.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>

#include "collectors/bus/run_certificate.hpp"
#include "probes/session/bus.hpp"
#include "topology/base/ids.hpp"

namespace weft::bus {

/// Of one participant, at a server that is of one run.
struct BusLogin {
  std::string user;
  std::string password;
  std::string certificate;  // PEM: the only one that the server may show
  friend bool operator==(const BusLogin&, const BusLogin&) = default;
};

/// Of a host or a watcher, at a server that stands for long: `weft bus init` makes it.
struct BusKey {
  std::string seed;                     // of a user's nkey (bus_key.hpp): secret
  std::string authority;                // PEM: who signs the server's certificate
  std::string server = kBusServerName;  // the name that this certificate is of
  friend bool operator==(const BusKey&, const BusKey&) = default;
};

/// A token that all who use a server share (empty: it asks for none), one's own login, or one's own key.
using BusCredential = std::variant<std::string, BusLogin, BusKey>;

/// Of a token or a login, without the line's end.
std::string credential_line(const BusCredential& credential);
/// A line that begins with '{' is a login, any other is a token. Error: invalid_input (a login that
/// credential_line would not write so: a member is missing, wrong or one too many); it quotes no value, which
/// may be a secret.
Result<BusCredential> read_credential(std::string_view line);

struct NatsAddress {
  std::string url;           // nats://HOST:PORT
  BusCredential credential;  // with a login the connection is encrypted, and the server must prove who it is
};

/// When a server that does not answer is given up, if not after 13 s: `until` ends a try, `stop` is noticed
/// between two, which take up to 3 s.
struct ConnectLimits {
  std::optional<std::chrono::steady_clock::time_point> until = std::nullopt;
  std::stop_token stop = {};
};

/// `self`: this participant's name: a host's, or kCoordinator. Errors: absent (no server answers at the url,
/// or it is not the one of the login), permission (the server refuses the credential, or this name with it).
Result<std::unique_ptr<session::Bus>> connect_nats(const NatsAddress& address, RunId run,
                                                   const std::string& self, const ConnectLimits& limits = {});

}  // namespace weft::bus
