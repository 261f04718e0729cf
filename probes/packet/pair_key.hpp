// Keys that hold for one pair of NICs and one epoch of time, for probes that go on for long. A watcher draws
// one secret. From it follows a secret of each host in each epoch, and from a host's secret the key of each
// NIC that probes one of its own: a host finds the keys of all who ask it by itself, and is told the keys of
// those that it asks. So who takes a host can make no packet of two others (the scheme of SCION's DRKey).
// Pure: keyed BLAKE2b.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "probes/packet/run_secrets.hpp"
#include "topology/base/ip.hpp"

namespace weft::packet {

using Secret = std::array<std::byte, 32>;

/// By which probes of an epoch name their key; it tells nothing of the secret.
RunId epoch_name(const Secret& secret, std::uint64_t epoch);
Secret host_secret(const Secret& secret, std::uint64_t epoch, std::uint32_t host);
/// Of the probes from one address to another, a NIC of the host whose secret it is, and of their echoes.
RunKey pair_key(const Secret& of_host, const IpAddress& asker, const IpAddress& asked);

}  // namespace weft::packet
