// The certificate by which the server of one run is known to those who take part in it: made for the run, and
// trusted by nobody else.
#pragma once

#include <string>

#include "topology/base/result.hpp"

namespace weft::bus {

/// The name that the certificate is for; no authority gives out another for it (RFC 2606). Not an address:
/// agents may reach the server by several, and who holds the key is all that counts.
inline constexpr const char* kRunServerName = "run.weft.invalid";

/// The same of a server that stands for long.
inline constexpr const char* kBusServerName = "bus.weft.invalid";

/// Both in PEM.
struct RunCertificate {
  std::string certificate;  // self-signed
  std::string key;
};

/// A new key (P-256) and its certificate. It has no dates that count: the key lives as long as the run, and
/// the clocks of hosts may be wrong.
Result<RunCertificate> make_run_certificate();
/// The same for a server of this name.
Result<RunCertificate> make_certificate_of(const std::string& server);

}  // namespace weft::bus
