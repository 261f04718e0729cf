#include "probes/datapath/peer_routes.hpp"

namespace weft::datapath {
namespace {

constexpr std::size_t kMaxQps = 4096;  // of one request
constexpr std::uint32_t kMaxPackets = 1U << 30;

}  // namespace

Result<void> check_peers(RunId run, const packet::RunSecrets& secrets, std::span<const Peer> peers,
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

Result<void> check_transfers(const TransferRequest& request) {
  if (request.specs.size() > kMaxQps)
    return fail(ErrorKind::usage, "{} QPs in one request: expected at most {}", request.specs.size(),
                kMaxQps);
  if (request.size.count() <= 0 || request.size.count() > 0xFFFF || request.window < 1)
    return fail(ErrorKind::usage, "expected packets of 1 to 65535 bytes and a window of one and more");
  for (std::size_t i = 0; i < request.specs.size(); ++i) {
    const auto& spec = request.specs[i];
    for (const PathLabel label : {spec.label, spec.back_label})
      WEFT_TRY_VOID(check_spec(i, spec.peer, request.peers.size(), label));
    if (spec.packets > kMaxPackets)
      return fail(ErrorKind::usage, "QP {}: {} packets: expected at most {}", i, spec.packets, kMaxPackets);
  }
  return {};
}

Result<std::vector<std::optional<packet::MacAddress>>> find_next_hops(NextHops& next_hops,
                                                                      std::span<const Peer> peers) {
  std::vector<std::optional<packet::MacAddress>> found;
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

}  // namespace weft::datapath
