#include "probes/discover/matching.hpp"

#include <gtest/gtest.h>

#include "topology/model/fabric_builder.hpp"

namespace weft::discover {
namespace {

const Bandwidth kRate = Bandwidth::gbit(100);

struct Cable {
  std::uint16_t leaf_port;
  std::string to;
  std::uint16_t port;
};

/// One leaf with these cables to a host or a spine.
Fabric leaf_with(const std::vector<Cable>& cables) {
  FabricBuilder builder("f", FabricKind::infiniband);
  const NodeId leaf =
      builder.add_node({.name = "leaf1", .kind = NodeKind::switch_, .tier = Tier::leaf}).value();
  const NodeId spine =
      builder.add_node({.name = "spine1", .kind = NodeKind::switch_, .tier = Tier::spine}).value();
  const NodeId host = builder.add_node({.name = "host1", .kind = NodeKind::host, .tier = Tier::host}).value();
  for (const auto& [leaf_port, to, port] : cables) {
    const PortId near = builder.add_port(leaf, PortNumber(leaf_port)).value();
    const PortId far = builder.add_port(to == "host1" ? host : spine, PortNumber(port)).value();
    EXPECT_TRUE(builder.add_link(far, near, kRate));
  }
  return std::move(builder).build();
}

/// Whether the cable at this port of the leaf was found.
bool is_there(const Fabric& fabric, const FabricMatch& match, std::uint16_t leaf_port) {
  for (std::uint32_t c = 0; c < fabric.channel_count(); ++c) {
    const Port& port = fabric.port(fabric.source(ChannelId(c)));
    if (fabric.name_of(port.node) == "leaf1" && port.number == PortNumber(leaf_port))
      return match.found[c].has_value();
  }
  return false;
}

TEST(MatchFabrics, OfABundleTheCableThatIsMissingIsTheOneAtThePortsWhereNoneIs) {
  const Fabric expected = leaf_with({{1, "spine1", 1}, {2, "spine1", 2}, {3, "spine1", 3}});
  const Fabric found = leaf_with({{2, "spine1", 2}, {3, "spine1", 3}});
  const FabricMatch match = match_fabrics(expected, found);
  EXPECT_FALSE(is_there(expected, match, 1));
  EXPECT_TRUE(is_there(expected, match, 2));
  EXPECT_TRUE(is_there(expected, match, 3));
}

TEST(MatchFabrics, ANicIsKnownByThePortOfItsSwitchWhereTheOneBeforeItIsGone) {
  const Fabric expected = leaf_with({{4, "host1", 1}, {5, "host1", 2}});
  const Fabric found = leaf_with({{5, "host1", 1}});  // the only adapter that answers is counted first
  const FabricMatch match = match_fabrics(expected, found);
  EXPECT_FALSE(is_there(expected, match, 4));
  EXPECT_TRUE(is_there(expected, match, 5));
  EXPECT_FALSE(match.found_nic[expected.nics()[0].value()]);
  EXPECT_TRUE(match.found_nic[expected.nics()[1].value()]);
}

TEST(MatchFabrics, WhereTheFileNumbersPortsOfItsOwnTheFirstIsTheFirst) {
  const Fabric expected = leaf_with({{1, "spine1", 1}, {2, "spine1", 2}});
  const Fabric found = leaf_with({{21, "spine1", 11}});
  const FabricMatch match = match_fabrics(expected, found);
  EXPECT_TRUE(is_there(expected, match, 1));
  EXPECT_FALSE(is_there(expected, match, 2));
}

/// host1 - leaf1 - spine1 - leaf2 - host2, up to this many nodes.
Fabric chain_of(std::size_t nodes) {
  FabricBuilder builder("f", FabricKind::infiniband);
  constexpr std::pair<const char*, Tier> kChain[] = {{"host1", Tier::host},
                                                     {"leaf1", Tier::leaf},
                                                     {"spine1", Tier::spine},
                                                     {"leaf2", Tier::leaf},
                                                     {"host2", Tier::host}};
  std::optional<PortId> before;
  for (const auto& [name, tier] : std::span(kChain).first(nodes)) {
    const auto kind = tier == Tier::host ? NodeKind::host : NodeKind::switch_;
    const NodeId node = builder.add_node({.name = name, .kind = kind, .tier = tier}).value();
    const PortId near = builder.add_port(node, PortNumber(1)).value();
    if (before) {
      EXPECT_TRUE(builder.add_link(*before, near, kRate));
    }
    if (name != kChain[nodes - 1].first)
      before = tier == Tier::host ? near : builder.add_port(node, PortNumber(2)).value();
  }
  return std::move(builder).build();
}

std::vector<std::string> accused(const Fabric& expected, Fabric there) {
  InfinibandFabric found{.fabric = std::move(there)};
  found.inventory.ports.resize(found.fabric.port_count());
  std::vector<std::string> names;
  for (const auto& sign : match_evidence(expected, found, match_fabrics(expected, found.fabric)))
    names.push_back(expected.name_of(sign.channel));
  return names;
}

TEST(MatchEvidence, OfCablesBeyondTheOneThatIsDownNothingIsSaid) {
  const Fabric expected = chain_of(5);
  EXPECT_EQ(accused(expected, chain_of(3)), (std::vector<std::string>{"spine1->leaf2", "leaf2->spine1"}));
  EXPECT_EQ(accused(expected, chain_of(4)), (std::vector<std::string>{"leaf2->host2", "host2->leaf2"}));
  EXPECT_EQ(accused(expected, chain_of(5)), std::vector<std::string>());
}

TEST(MatchEvidence, ASwitchOfWhichNothingWasFoundIsToBeLookedAtBeforeItsCables) {
  const Fabric expected = chain_of(5);
  InfinibandFabric found{.fabric = chain_of(3)};
  found.inventory.ports.resize(found.fabric.port_count());
  const auto signs = match_evidence(expected, found, match_fabrics(expected, found.fabric));
  ASSERT_FALSE(signs.empty());
  EXPECT_NE(signs[0].text.find("nothing of leaf2 was found, by none of its 2 cables"), std::string::npos);
}

}  // namespace
}  // namespace weft::discover
