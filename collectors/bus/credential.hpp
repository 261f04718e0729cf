// What a participant shows to the bus, as one line of text: that is how an agent gets it, on its input or in
// its environment, never on a command line.
#pragma once

#include <string>
#include <string_view>
#include <variant>

namespace weft {

/// Of one participant, at a server that is of one run.
struct BusLogin {
  std::string user;
  std::string password;
  std::string certificate;  // PEM: the only one that the server may show
  friend bool operator==(const BusLogin&, const BusLogin&) = default;
};

/// A token that all who use a server share (empty: it asks for none), or one's own login.
using BusCredential = std::variant<std::string, BusLogin>;

/// Without the line's end.
std::string credential_line(const BusCredential& credential);
/// What is no login that credential_line wrote is a token.
BusCredential read_credential(std::string_view line);

}  // namespace weft
