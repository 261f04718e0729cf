#include "probes/discover/subnet_discovery.hpp"

#include <gmock/gmock.h>

#include "probes/discover/subnet_scan.hpp"
#include "tests/fakes/fake_subnet.hpp"
#include "topology/model/fabric.hpp"

namespace weft::discover {
namespace {

using fakes::FakeSubnet;
using fakes::make_subnet;
using fakes::Unruliness;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

InfinibandFabric built(const SubnetDiscovery& discovery) {
  return build_infiniband_fabric(discovery.subnet, "found").value();
}

std::set<std::string> link_names(const Fabric& fabric) {
  std::set<std::string> names;
  for (std::uint32_t l = 0; l < fabric.link_count(); ++l) names.insert(fabric.name_of(LinkId(l)));
  return names;
}

TEST(SubnetDiscovery, FindsEveryNodeLinkNameTierAndLid) {
  FakeSubnet subnet(make_subnet(3, 2, 2, 2));
  const auto found = discover_subnet(subnet);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_THAT(found->subnet.remarks, IsEmpty());
  const auto [fabric, inventory, remarks] = built(*found);
  EXPECT_THAT(remarks, IsEmpty());
  EXPECT_EQ(fabric.hosts().size(), 6u);
  EXPECT_EQ(fabric.link_count(), 12u);
  EXPECT_EQ(fabric.node(*fabric.find_node("leaf2")).tier, Tier::leaf);
  EXPECT_EQ(fabric.node(*fabric.find_node("spine1")).tier, Tier::spine);
  EXPECT_TRUE(fabric.find_link("host4--leaf2"));
  const auto nic = fabric.find_nic("host4");
  ASSERT_TRUE(nic);
  EXPECT_EQ(inventory.ports[nic->value()].lids, subnet.node(Guid(0x1004)).ports.at(1).lids);
  EXPECT_EQ(fabric.link(LinkId(0)).rate, Bandwidth::gbit(200));
}

TEST(SubnetDiscovery, AsksEachNodeAndEachLinkOnce) {
  FakeSubnet subnet(make_subnet(8, 4, 4));
  const auto found = discover_subnet(subnet, {.window = 8});
  ASSERT_TRUE(found);
  const unsigned nodes = 32 + 8 + 4;
  const unsigned links = 32 + 32;
  // One NodeInfo of our own and one through each link; a few cables are asked from both ends at the same
  // time.
  EXPECT_LE(subnet.asked[0x11], 1 + links + 8);
  EXPECT_EQ(subnet.asked[0x10], nodes);
  // Every adapter, every switch, and one end of each link; ports without a cable; and the check of the LIDs.
  const unsigned dark = 4 * 2;
  EXPECT_LE(subnet.asked[0x15], 32 + 12 + links + dark + (12 + 1) + 8);
  for (const auto& node : found->subnet.nodes)
    for (const auto& [number, port] : node.ports)
      EXPECT_TRUE(port.state == IbPortState::active && port.width && port.speed)
          << node.guid.value() << ' ' << +number;
}

TEST(SubnetDiscovery, APortNotActivatedIsAskedAtBothEnds) {
  FakeSubnet subnet(make_subnet(2, 2, 1));
  subnet.node(Guid(0x2001)).ports.at(3).state = IbPortState::init;
  const auto found = discover_subnet(subnet);
  ASSERT_TRUE(found);
  std::map<IbPortState, unsigned> states;
  for (const auto& node : found->subnet.nodes)
    for (const auto& [number, port] : node.ports)
      if (port.state) ++states[*port.state];
  EXPECT_EQ(states[IbPortState::init], 1u);
}

TEST(SubnetDiscovery, IsTheSameWhenAnswersAreLostAndOvertakeEachOther) {
  FakeSubnet orderly(make_subnet(4, 3, 3));
  FakeSubnet unruly(
      make_subnet(4, 3, 3),
      {.drop = 0.1, .repeat = 0.1, .least_delay = microseconds(1), .most_delay = milliseconds(2)});
  const auto expected = built(discover_subnet(orderly).value());
  const auto found = built(discover_subnet(unruly, {.timeout = milliseconds(350), .attempts = 7}).value());
  EXPECT_EQ(link_names(found.fabric), link_names(expected.fabric));
}

TEST(SubnetDiscovery, AnAdapterThatNeverAnswersIsOneRemarkAndOneTimeout) {
  FakeSubnet whole(make_subnet(3, 2, 2));
  FakeSubnet subnet(make_subnet(3, 2, 2));
  subnet.silent.insert(Guid(0x1003));
  ASSERT_TRUE(discover_subnet(whole));
  const auto found = discover_subnet(subnet, {.timeout = milliseconds(300)});
  ASSERT_TRUE(found);
  EXPECT_THAT(found->subnet.remarks,
              Contains(HasSubstr("the link is up, but what is behind it gives no answer")));
  EXPECT_EQ(built(*found).fabric.hosts().size(), 5u);
  EXPECT_LE(subnet.now() - whole.now(), milliseconds(301));
}

TEST(SubnetDiscovery, LidsThatChangeMeanwhileAreReadAgain) {
  FakeSubnet subnet(make_subnet(3, 2, 2));
  subnet.on_send = [&](std::uint64_t sent) {
    if (sent != 60) return;
    for (const std::uint64_t guid : {0x2001, 0x2002, 0x2003, 0x3001, 0x3002}) {
      auto& lids = subnet.node(Guid(guid)).about.lids;
      lids->base = Lid(static_cast<std::uint16_t>(lids->base.value() + 100));
    }
  };
  const auto found = discover_subnet(subnet);
  ASSERT_TRUE(found);
  EXPECT_THAT(found->subnet.remarks, Contains(HasSubstr("read 2 times")));
  const auto result = built(*found);
  const auto leaf = result.fabric.find_node("leaf3");
  EXPECT_EQ(result.inventory.nodes[leaf->value()].lids, subnet.node(Guid(0x2003)).about.lids);
}

TEST(SubnetDiscovery, ParallelTrunksAreBundlesAndATrunkToNowhereIsNone) {
  auto truth = make_subnet(2, 1, 1);
  auto& leaf = truth.nodes[2];
  auto& spine = truth.nodes[4];
  leaf.about.port_count = 3;
  leaf.ports[3] = {.guid = leaf.guid,
                   .width = LinkWidth::x2,
                   .speed = LinkSpeed::hdr,
                   .peer = IbSubnetPort::Peer{spine.guid, 4}};
  spine.ports[4] = {.guid = spine.guid,
                    .width = LinkWidth::x2,
                    .speed = LinkSpeed::hdr,
                    .peer = IbSubnetPort::Peer{leaf.guid, 3}};
  FakeSubnet subnet(truth);
  const auto found = built(discover_subnet(subnet).value());
  const auto second = found.fabric.find_link("leaf1/p3--spine1/p4");
  ASSERT_TRUE(second);
  EXPECT_EQ(found.fabric.link(*second).rate, Bandwidth::gbit(100));
  EXPECT_EQ(found.fabric.link_count(), 5u);
}

TEST(SubnetDiscovery, AnAggregationNodeIsNoHost) {
  auto truth = make_subnet(2, 1, 1);
  truth.nodes.push_back({false,
                         Guid(0x9000),
                         {.description = "Mellanox Technologies Aggregation Node", .port_count = 1},
                         {{1, {.guid = Guid(0x9001), .peer = IbSubnetPort::Peer{Guid(0x3001), 4}}}}});
  truth.nodes[4].ports[4] = {.guid = Guid(0x3001), .peer = IbSubnetPort::Peer{Guid(0x9000), 1}};
  FakeSubnet subnet(truth);
  const auto found = built(discover_subnet(subnet).value());
  EXPECT_EQ(found.fabric.hosts().size(), 2u);
  EXPECT_EQ(found.fabric.node(*found.fabric.find_node("spine1")).tier, Tier::spine);
  ASSERT_EQ(found.inventory.aggregation_nodes.size(), 1u);
  EXPECT_EQ(found.inventory.aggregation_nodes[0].at_switch, Guid(0x3001));
}

TEST(SubnetDiscovery, AGuidUsedTwiceIsARemarkAndNoEndlessScan) {
  FakeSubnet subnet(make_subnet(2, 1, 2));
  subnet.claims[Guid(0x1002)] = Guid(0x1003);
  const auto found = discover_subnet(subnet);
  ASSERT_TRUE(found);
  EXPECT_THAT(found->subnet.remarks, Contains(HasSubstr("a GUID used twice?")));
  EXPECT_EQ(built(*found).fabric.hosts().size(), 3u);
  EXPECT_LT(subnet.sent, 200u);
}

TEST(SubnetDiscovery, ANodeWithAGuidOfZeroIsLeftOutWithARemark) {
  FakeSubnet subnet(make_subnet(2, 1, 2));
  subnet.claims[Guid(0x1002)] = Guid();
  const auto found = discover_subnet(subnet);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_THAT(found->subnet.remarks, Contains(HasSubstr("GUID")));
  EXPECT_EQ(built(*found).fabric.hosts().size(), 3u);
}

TEST(SubnetDiscovery, ASilentPortOfOurOwnIsAnError) {
  FakeSubnet subnet(make_subnet(1, 1, 1), {.drop = 1.0});
  const auto found = discover_subnet(subnet);
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message, HasSubstr("our own InfiniBand port does not answer"));
}

TEST(SubnetDiscovery, FDR10IsToldFromQDRByTheVendorsOwnAttribute) {
  FakeSubnet subnet(fakes::make_subnet(2, 2, 1));
  const auto set = [&](std::uint64_t guid, std::uint8_t port, LinkSpeed speed) {
    subnet.node(Guid(guid)).ports.at(port).speed = speed;
  };
  for (const auto& [guid, port] : {std::pair{0x2001, 2}, {0x3001, 1}})
    set(static_cast<std::uint64_t>(guid), static_cast<std::uint8_t>(port), LinkSpeed::fdr10);
  for (const auto& [guid, port] : {std::pair{0x2001, 3}, {0x3002, 1}})
    set(static_cast<std::uint64_t>(guid), static_cast<std::uint8_t>(port), LinkSpeed::qdr);
  const auto found = discover_subnet(subnet);
  ASSERT_TRUE(found);
  std::map<LinkSpeed, unsigned> speeds;
  for (const auto& node : found->subnet.nodes)
    for (const auto& [number, port] : node.ports)
      if (port.speed) ++speeds[*port.speed];
  EXPECT_EQ(speeds[LinkSpeed::fdr10], 2u);
  EXPECT_EQ(speeds[LinkSpeed::qdr], 2u);
  EXPECT_EQ(subnet.asked[0xFF90], 2u);  // only of links that say QDR, at one end
}

TEST(SubnetDiscovery, XDRIsReadFromTheSecondExtendedSpeed) {
  auto truth = make_subnet(1, 1, 1);
  for (auto& node : truth.nodes)
    for (auto& [number, port] : node.ports) port.speed = LinkSpeed::xdr;
  FakeSubnet subnet(truth);
  const auto found = built(discover_subnet(subnet).value());
  EXPECT_EQ(found.fabric.link(LinkId(0)).rate, Bandwidth::gbit(800));
}

TEST(SubnetDiscovery, NonsenseFromANodeIsARemarkAndTheRestIsFound) {
  for (const auto attribute : {mad::MadAttribute::node_info, mad::MadAttribute::node_description,
                               mad::MadAttribute::switch_info, mad::MadAttribute::port_info}) {
    FakeSubnet subnet(make_subnet(2, 2, 2));
    subnet.garbled.insert({Guid(0x2002), attribute});
    const auto found = discover_subnet(subnet);
    ASSERT_TRUE(found) << found.error().message;
    const auto result = built(*found);
    EXPECT_TRUE(result.fabric.find_link("host1--leaf1"));
    EXPECT_TRUE(result.fabric.find_link("leaf1--spine2"));
    if (attribute == mad::MadAttribute::node_info || attribute == mad::MadAttribute::switch_info) {
      EXPECT_THAT(found->subnet.remarks, Contains(HasSubstr("expected")));
    }
    EXPECT_LT(subnet.sent, 400u);
  }
}

TEST(SubnetDiscovery, WithoutASubnetManagerTheCablesAreFoundAndNobodyHasALid) {
  auto truth = make_subnet(2, 2, 1);
  for (auto& node : truth.nodes) {
    node.about.lids.reset();
    for (auto& [number, port] : node.ports) port.lids.reset();
  }
  FakeSubnet subnet(truth);
  subnet.has_manager = false;
  const auto found = discover_subnet(subnet);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_FALSE(found->sm_lid);
  EXPECT_THAT(found->subnet.remarks, Contains(HasSubstr("no subnet manager")));
  const auto result = built(*found);
  EXPECT_EQ(result.fabric.link_count(), 6u);
  for (const auto& port : result.inventory.ports) EXPECT_FALSE(port.lids);
}

/// Every port leads to a switch that nobody has seen before.
class EndlessSubnet : public mad::Mads {
 public:
  Result<void> send(const mad::MadPacket& packet) override {
    mad::MadArrival arrival{packet.bytes, false, Lid()};
    const auto data = MutableByteSpan(arrival.bytes).subspan(64);
    store_u8(arrival.bytes, 3, 0x81);
    if (mad::decode_mad_header(packet.bytes)->attribute == mad::MadAttribute::node_info) {
      store_u8(data, 2, 2);   // a switch
      store_u8(data, 3, 40);  // of 40 ports
      store_be64(data, 12, ++guid_);
      store_u8(data, 36, 1);
    }
    if (mad::decode_mad_header(packet.bytes)->attribute == mad::MadAttribute::port_info)
      store_u8(data, 33, 0x50);  // up
    ++sent;
    coming_.push_back(arrival);
    return {};
  }
  Result<std::optional<mad::MadArrival>> receive(Nanoseconds) override {
    if (coming_.empty()) return std::nullopt;
    const auto arrival = coming_.front();
    coming_.pop_front();
    return arrival;
  }
  Nanoseconds now() override { return now_ += Nanoseconds(1); }
  std::uint64_t sent = 0;

 private:
  std::uint64_t guid_ = 0;
  std::deque<mad::MadArrival> coming_;
  Nanoseconds now_{};
};

TEST(SubnetDiscovery, ASubnetWithoutEndIsCutWithARemark) {
  EndlessSubnet subnet;
  SubnetScan scan(100);
  ASSERT_TRUE(converse(subnet, scan));
  const auto found = std::move(scan).result();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->subnet.nodes.size(), 100u);
  EXPECT_THAT(found->subnet.remarks, Contains(HasSubstr("more than 100 nodes")));
  EXPECT_LT(subnet.sent, 100u * 50u);
}

}  // namespace
}  // namespace weft::discover
