// UCX as MPI uses it (its protocol layer, which connects by datagrams of its own), unmodified, over
// soft-RoCE: libweft-nccl.so before it, its queue pairs have their labels on the wire. Over IPv6: with IPv4
// UCX drops each datagram that soft-RoCE hands it, and no two processes connect. A completion has no field
// for what kind of address the packet had; ConnectX tells it in that of the service level, and UCX (1.13
// and since, ud_iface.h) looks for it there. Soft-RoCE leaves it 0, so UCX reads the IPv4 header as one of
// IPv6, and finds it is not for this host.
#include <gmock/gmock.h>

#include "tests/rdma/jobs_of_others.hpp"

namespace weft {
namespace {

constexpr std::uint32_t kPaths = 4;

class UcxOverIpv6 : public testing::Test {
 protected:
  static constexpr const char* kFabric =
      "fabric: ucx6\nkind: roce\nclos: {leaves: 2, spines: 2, hosts_per_leaf: 1}\nlab: {link_rate: 10M, "
      "family: ipv6, guests: all, guest_image: " WEFT_BINARY_DIR "/guest}\n";

  /// Messages of 256 KB from host1 to host2 over four queue pairs; what host1 sends by them.
  static PortsByQp send(const RdmaRig& rig) {
    auto words = kWithWeft;
    words.insert(words.end(),
                 {"UCX_TLS=rc", "UCX_NET_DEVICES=rxe_p1:1",
                  "UCX_IB_GID_INDEX=1",  // 0: that of the link
                  fmt::format("UCX_IB_NUM_PATHS={}", kPaths), fmt::format("UCX_MAX_RNDV_RAILS={}", kPaths),
                  "ucx_perftest", "-6", "-t", "tag_bw", "-s", "262144", "-w", "1", "-n", "8"});
    auto packets = rig.packets_of(
        "host1", [&] { run_between(rig, "host2", "host1", words, std::chrono::seconds(100)); });
    EXPECT_TRUE(std::ranges::any_of(packets, &SeenPacket::is_datagram)) << "it connects by these";
    std::erase_if(packets, [](const SeenPacket& packet) { return packet.is_datagram || !packet.v6; });
    return ports_by_qp(packets);
  }
};

TEST_F(UcxOverIpv6, HasItsLabelsOnAllItsPaths) {
  if (const auto missing = missing_for_guests(); !missing.empty()) GTEST_SKIP() << missing;
  const RdmaRig rig(kFabric);
  ASSERT_EQ(rig.trouble(), "");
  const auto own = rig.peer("host1").address;
  const auto peer = rig.peer("host2").address;
  EXPECT_EQ(put_labels(rig, "host1", {1, {spaced_labels(own, peer, 50'000, kPaths)}}).status, 0);
  EXPECT_EQ(put_labels(rig, "host2", {1, {spaced_labels(peer, own, 60'000, kPaths)}}).status, 0);
  std::multiset<std::uint32_t> ports;
  for (const auto& [qp, used] : send(rig))
    for (const UdpPort port : used) ports.insert(port.value());
  EXPECT_THAT(ports, testing::ElementsAre(50'000, 50'010, 50'020, 50'030));
}

}  // namespace
}  // namespace weft
