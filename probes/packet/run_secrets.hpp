// RunSecrets: what makes a probe of this run ours. Every participant of a run holds them; a packet whose
// authenticator was not made with this key is not answered and not counted.
#pragma once

#include <array>
#include <cstddef>

#include "topology/base/ids.hpp"

namespace weft::packet {

/// A SipHash-2-4 key (libsodium crypto_shorthash_KEYBYTES).
using RunKey = std::array<std::byte, 16>;

struct RunSecrets {
  RunId run;
  RunKey key{};
  friend bool operator==(const RunSecrets&, const RunSecrets&) = default;
};

}  // namespace weft::packet
