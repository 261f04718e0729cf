// The keys by which standing agents and watchers prove who they are (nkeys): an Ed25519 key pair, written in
// base32 with a checksum, its first letters saying what it is of (user: U, the seed of one: SU). The server
// knows the public part alone; nobody sends the seed.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "topology/base/bytes.hpp"
#include "topology/base/result.hpp"

namespace weft::bus {

using Signature = std::array<unsigned char, 64>;

/// A new user's seed: 58 letters and digits, a secret.
std::string make_user_seed();
/// Of a user's seed; 56 letters and digits. Error: invalid_input; it does not quote the seed.
Result<std::string> public_key_of(std::string_view seed);
/// Error: as public_key_of.
Result<Signature> sign_with(std::string_view seed, std::string_view text);

}  // namespace weft::bus
