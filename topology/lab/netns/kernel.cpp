#include "topology/lab/netns/kernel.hpp"

#include <algorithm>
#include <filesystem>

#include "topology/model/fabric.hpp"

namespace weft::lab {
namespace {

// A bridge has at most 1,024 ports (BR_MAX_PORTS, net/bridge/br_private.h), and every host has one.
constexpr std::size_t kMaxHosts = 1000;
constexpr Bytes kMinLinkMtu{1280};    // of IPv6, RFC 8200 section 5; also what weft's own probes need
constexpr Bytes kMaxLinkMtu{65'535};  // ETH_MAX_MTU, the most a veth takes

}  // namespace

KernelFeatures kernel_features() {
  std::error_code error;
  return {.has_hash_seed = std::filesystem::exists("/proc/sys/net/ipv4/fib_multipath_hash_seed", error)};
}

Result<void> check_lab_fits(const Fabric& fabric, const LabSettings& settings, KernelFeatures kernel) {
  if (fabric.kind() == FabricKind::infiniband)
    return fail(ErrorKind::not_supported, "fabric '{}' is InfiniBand: this lab is made of Ethernet only",
                fabric.name());
  const bool three_tiers =
      std::ranges::any_of(fabric.nodes(), [](const Node& node) { return node.tier >= Tier::core; });
  if (three_tiers && !kernel.has_hash_seed)
    return fail(
        ErrorKind::not_supported,
        "a lab of three tiers needs a hash seed per device (net.ipv4.fib_multipath_hash_seed), which came "
        "with Linux 6.11; this kernel runs labs of two tiers");
  if (fabric.hosts().size() > kMaxHosts)
    return fail(ErrorKind::not_supported, "fabric '{}' has {} hosts: a lab has at most {}", fabric.name(),
                fabric.hosts().size(), kMaxHosts);
  if (settings.mtu < kMinLinkMtu || settings.mtu > kMaxLinkMtu)
    return fail(ErrorKind::usage, "lab mtu {} is outside {} to {} bytes", settings.mtu.count(),
                kMinLinkMtu.count(), kMaxLinkMtu.count());
  return {};
}

}  // namespace weft::lab
