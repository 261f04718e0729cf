// A server's certificate that an authority of the site signed, instead of one made for the bus alone.
#pragma once

#include <string>

#include "topology/base/result.hpp"

namespace weft::bus {

/// All in PEM.
struct SiteCertificate {
  std::string authority;    // one or several, by which agents know the server
  std::string certificate;  // the server's, then those between it and the authority
  std::string key;          // without a passphrase
};

/// The name by which agents know the server: the first DNS name of its certificate that is no pattern.
/// Errors: invalid_input (no PEM, a key of another certificate, no such name, or the authority did not sign
/// it for a server, or not for now: with what OpenSSL says of it).
Result<std::string> server_name_of(const SiteCertificate& given);

}  // namespace weft::bus
