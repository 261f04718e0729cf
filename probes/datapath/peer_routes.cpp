#include "probes/datapath/peer_routes.hpp"

namespace weft {

Result<void> check_peers(RunId run, const RunSecrets& secrets, std::span<const Peer> peers,
                         const LocalNic& nic) {
  if (run != secrets.run)
    return fail(ErrorKind::usage, "a request of run {} at an engine of run {}", run.value(),
                secrets.run.value());
  for (const auto& peer : peers)
    if (peer.address.is_v6() != nic.address.is_v6())
      return fail(ErrorKind::usage, "cannot probe {} from {}: give both addresses of one family",
                  to_string(peer.address), to_string(nic.address));
  return {};
}

Result<void> check_spec(std::size_t spec, std::uint32_t peer, std::size_t peers, PathLabel label) {
  if (peer >= peers) return fail(ErrorKind::usage, "spec {}: peer {} of {}", spec, peer, peers);
  if (label.value() > 0xFFFF)
    return fail(ErrorKind::usage, "spec {}: label {} is no UDP port: expected 0 to 65535", spec,
                label.value());
  return {};
}

Result<std::vector<std::optional<MacAddress>>> find_next_hops(NextHops& next_hops,
                                                              std::span<const Peer> peers) {
  std::vector<std::optional<MacAddress>> found;
  std::optional<Error> trouble;
  bool any = false;
  for (const auto& peer : peers) {
    const auto mac = next_hops.next_hop(peer.address);
    found.push_back(mac ? std::optional(*mac) : std::nullopt);
    any = any || mac;
    if (!mac && !trouble) trouble = mac.error();
  }
  if (trouble && !any) return tl::unexpected(*trouble);
  return found;
}

}  // namespace weft
