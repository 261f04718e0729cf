// Queue pairs of a VLAN: its interface stands over the guest's NIC, so the device's table holds GIDs of both.
#include <gmock/gmock.h>

#include "tests/rdma/queue_pairs_rig.hpp"
#include "topology/model/fabric.hpp"

namespace weft {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

constexpr std::uint16_t kVlan = 100;
constexpr const char* kInterface = "p1.100";

/// VLAN 100 from host1 to host3 by leaf1, spine1 and leaf3, while the object lives. The lab's switches route,
/// and their kernel knows no VLANs: frames with a tag are redirected from port to port.
class Vlan {
 public:
  explicit Vlan(const RdmaRig& rig) : rig_(rig) {
    carry("leaf1", "host1--leaf1", "leaf1--spine1");
    carry("spine1", "leaf1--spine1", "leaf3--spine1");
    carry("leaf3", "leaf3--spine1", "host3--leaf3");
    for (const auto& [host, address] : addresses_) add_interface(host, to_string(address) + "/24");
  }
  ~Vlan() {
    for (const auto& [host, address] : addresses_) in(host, fmt::format("/bin/ip link del {}", kInterface));
    for (const auto& [node, port] : redirected_) in(node, fmt::format("tc qdisc del dev {} ingress", port));
  }
  Vlan(const Vlan&) = delete;
  Vlan& operator=(const Vlan&) = delete;

  IpAddress address_of(const std::string& host) const { return addresses_.at(host); }
  void add_address(const std::string& host, const std::string& address) const {
    in(host, fmt::format("/bin/ip address add {} dev {}", address, kInterface));
    await_gids(host, 2);
  }

 private:
  void in(const std::string& node, const std::string& script) const {
    const auto answer = rig_.in(node, {"sh", "-ec", script});
    EXPECT_EQ(answer.status, 0) << node << ": " << script << ": " << answer.errors;
  }
  void add_interface(const std::string& host, const std::string& address) const {
    in(host, fmt::format("/bin/ip link add link p1 name {0} type vlan id {1}; "
                         "/bin/ip address add {2} dev {0}; /bin/ip link set {0} up",
                         kInterface, kVlan, address));
    await_gids(host, 1);
  }
  /// The device's table follows the addresses a little later.
  void await_gids(const std::string& host, int addresses) const {
    in(host, fmt::format("for i in $(seq 100); do n=0; for at in $(seq 0 15); do "
                         "p=/sys/class/infiniband/rxe_p1/ports/1; "
                         "[ \"$(cat $p/gid_attrs/ndevs/$at 2>/dev/null)\" = {} ] || continue; "
                         "case $(cat $p/gids/$at) in *:ffff:*) n=$((n + 1)) ;; esac; done; "
                         "[ $n -lt {} ] || exit 0; sleep .1; done; exit 1",
                         kInterface, addresses));
  }
  std::string port_of(const std::string& node, const char* link) const {
    const Fabric& fabric = rig_.lab().fabric();
    const Link& cable = fabric.link(fabric.find_link(link).value());
    const Port& a = fabric.port(cable.a);
    const Port& port = fabric.name_of(a.node) == node ? a : fabric.port(cable.b);
    return fmt::format("p{}", port.number.value());
  }
  void carry(const std::string& node, const char* one, const char* other) {
    const auto a = port_of(node, one);
    const auto b = port_of(node, other);
    for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)}) {
      in(node, fmt::format("tc qdisc add dev {0} ingress; tc filter add dev {0} parent ffff: protocol 802.1q "
                           "u32 match u32 0 0 action mirred egress redirect dev {1}",
                           from, to));
      redirected_.emplace_back(node, from);
    }
  }

  const RdmaRig& rig_;
  const std::map<std::string, IpAddress> addresses_{{"host1", IpAddress(IpAddress::V4{192, 168, 100, 1})},
                                                    {"host3", IpAddress(IpAddress::V4{192, 168, 100, 3})}};
  std::vector<std::pair<std::string, std::string>> redirected_;
};

std::set<std::optional<std::uint16_t>> tags_of(const std::vector<SeenPacket>& packets) {
  std::set<std::optional<std::uint16_t>> tags;
  for (const SeenPacket& packet : packets) tags.insert(packet.vlan);
  return tags;
}

TEST_F(QueuePairs, OfAVlansAddressGoByItsGidAndCarryItsTag) {
  const Vlan vlan(rig());
  const auto here = vlan.address_of("host1");
  const auto there = vlan.address_of("host3");
  // One is told its interface, the other finds it by the address.
  const RigOrders over_vlan{.nics = {{"host1", {kInterface, here}}, {"host3", {to_string(there), there}}}};
  auto work = flows({50'000, 61'000}, seconds(1));
  std::get<datapath::FlowRequest>(work.work).peers.front().address =
      there;  // agents send to NICs of the run only
  RigAnswers tagged;
  const auto seen = rig().packets_of("host1", [&] {
    tagged = rig().run({"host1", "host3"}, {{work}, {asked("host3", 1)}}, over_vlan);
  });
  ASSERT_EQ(tagged.error, "");
  ASSERT_TRUE(tagged.blamed.empty()) << tagged.blamed[0].text;
  EXPECT_THAT(tagged.uses[rig().nic("host1")], HasSubstr("(RoCE v2, ::ffff:192.168.100.1, of p1.100)"));
  EXPECT_THAT(tagged.uses[rig().nic("host3")], HasSubstr("(RoCE v2, ::ffff:192.168.100.3, of p1.100)"));
  EXPECT_EQ(tags_of(seen), (std::set<std::optional<std::uint16_t>>{kVlan}));
  std::set<UdpPort> ports;
  for (const SeenPacket& packet : seen) ports.insert(packet.source_port);
  EXPECT_EQ(ports, (std::set<UdpPort>{UdpPort(50'000), UdpPort(61'000)})) << "labels hold on a VLAN too";
  const auto receipts = std::get<std::vector<datapath::ReceivedTally>>(tagged.answers.at(1).value());
  ASSERT_EQ(receipts.size(), 2u);
  for (const auto& receipt : receipts) EXPECT_GT(receipt.packets, 10u);
}

TEST_F(QueuePairs, OfThePlainAddressGoUntaggedBesideAVlan) {
  const Vlan vlan(rig());
  RigAnswers plain;
  const auto seen = rig().packets_of("host1", [&] {
    plain = rig().run({"host1", "host3"}, {{flows({50'000}, seconds(1))}});
  });
  ASSERT_EQ(plain.error, "");
  ASSERT_TRUE(plain.blamed.empty()) << plain.blamed[0].text;
  EXPECT_THAT(plain.uses[rig().nic("host1")], HasSubstr(", of p1)"));
  EXPECT_EQ(tags_of(seen), std::set<std::optional<std::uint16_t>>{std::nullopt});
}

TEST_F(QueuePairs, OfAnAddressThatBothHaveGoByTheGidOfTheirInterface) {
  const Vlan vlan(rig());
  const auto address = rig().peer("host1").address;
  vlan.add_address("host1", to_string(address) + "/32");
  for (const std::string interface : {"p1", kInterface}) {
    const auto done =
        rig().run({"host1"}, {{asked("host1", 1)}}, {.nics = {{"host1", {interface, address}}}});
    const std::string uses = done.uses.contains(rig().nic("host1")) ? done.uses.at(rig().nic("host1")) : "";
    EXPECT_THAT(uses,
                HasSubstr("of " + interface + "): of 2 with the NIC's address, the one of its interface"))
        << (done.blamed.empty() ? done.error : done.blamed[0].text);
  }
}

}  // namespace
}  // namespace weft
