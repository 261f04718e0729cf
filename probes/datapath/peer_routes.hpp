// What every request is checked for before a packet leaves, and the first station of the way to each of its
// peers.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "probes/datapath/flow_engine.hpp"
#include "probes/datapath/packet_port.hpp"
#include "probes/packet/run_secrets.hpp"

namespace weft::datapath {

/// An error where the request is of another run, or an address of another family than the NIC's.
Result<void> check_peers(RunId run, const packet::RunSecrets& secrets, std::span<const Peer> peers,
                         const LocalNic& nic);

/// An error where spec number `spec` names no peer, or its label is no UDP port.
Result<void> check_spec(std::size_t spec, std::uint32_t peer, std::size_t peers, PathLabel label);

/// What every engine refuses of transfers: too many of them, packets of a size that is none, no window, a
/// spec as above.
Result<void> check_transfers(const TransferRequest& request);

/// The next hop of each peer, absent where there is none; an error where no peer has one.
Result<std::vector<std::optional<packet::MacAddress>>> find_next_hops(NextHops& next_hops,
                                                                      std::span<const Peer> peers);

}  // namespace weft::datapath
