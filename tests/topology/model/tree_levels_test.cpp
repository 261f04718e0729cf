#include "topology/model/tree_levels.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "topology/files/fabric_file.hpp"
#include "topology/files/ibnetdiscover.hpp"
#include "topology/model/fabric_builder.hpp"
#include "topology/model/ib_design.hpp"

namespace weft {
namespace {

/// Switches sw0, sw1, ... with so many hosts each, and the cables between them.
Fabric made_of(const std::vector<unsigned>& hosts, const std::vector<std::pair<int, int>>& cables) {
  FabricBuilder builder("t", FabricKind::infiniband);
  std::vector<NodeId> switches;
  for (std::size_t s = 0; s < hosts.size(); ++s)
    switches.push_back(builder.add_node({.name = fmt::format("sw{}", s)}).value());
  for (std::size_t s = 0; s < hosts.size(); ++s)
    for (unsigned h = 0; h < hosts[s]; ++h)
      builder.connect(
          builder
              .add_node({.name = fmt::format("host{}-{}", s, h), .kind = NodeKind::host, .tier = Tier::host})
              .value(),
          switches[s], Bandwidth::gbit(200));
  for (const auto& [a, b] : cables)
    builder.connect(switches[static_cast<std::size_t>(a)], switches[static_cast<std::size_t>(b)],
                    Bandwidth::gbit(200));
  return std::move(builder).build();
}

std::vector<unsigned> levels_of(const Fabric& fabric, std::size_t switches) {
  CabledNodes nodes{std::vector<bool>(fabric.node_count()),
                    std::vector<std::vector<std::uint32_t>>(fabric.node_count())};
  for (std::uint32_t n = 0; n < fabric.node_count(); ++n) nodes.is_host[n] = fabric.is_host(NodeId(n));
  for (const Link& link : fabric.links()) {
    const auto a = fabric.port(link.a).node.value();
    const auto b = fabric.port(link.b).node.value();
    nodes.neighbours[a].push_back(b);
    nodes.neighbours[b].push_back(a);
  }
  auto levels = tree_levels(nodes);
  levels.resize(switches);
  return levels;
}

using Levels = std::vector<unsigned>;

TEST(TreeLevels, CountFromTheHostsUpwardsWithoutEnd) {
  EXPECT_EQ(levels_of(made_of({1, 0, 0, 0, 0, 1}, {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}}), 6),
            (Levels{1, 2, 3, 3, 2, 1}));
  EXPECT_EQ(levels_of(made_of({2, 0, 0, 0, 0}, {{0, 1}, {1, 2}, {2, 3}, {3, 4}}), 5),
            (Levels{1, 2, 3, 4, 5}));
  EXPECT_EQ(levels_of(made_of({1, 0}, {}), 2), (Levels{1, 0})) << "no host is near the second";
}

const std::vector<std::pair<int, int>> kTwoByTwo{{0, 2}, {0, 3}, {1, 2}, {1, 3}};

TEST(TreeLevels, AHostAtASwitchAboveLeavesMakesNoLeafOfIt) {
  EXPECT_EQ(levels_of(made_of({8, 8, 1, 0}, kTwoByTwo), 4), (Levels{1, 1, 2, 2}));
  EXPECT_EQ(levels_of(made_of({4, 8, 2, 0}, kTwoByTwo), 4), (Levels{1, 1, 1, 2})) << "half is not few";
}

TEST(TreeLevels, SwitchesOfATorusAreAllLeaves) {
  EXPECT_EQ(levels_of(made_of({4, 4, 4, 4}, {{0, 1}, {1, 2}, {2, 3}, {3, 0}}), 4), (Levels{1, 1, 1, 1}));
}

/// The fabric as a dump, and as a file that names no tiers, reads it.
std::vector<Fabric> read_back(const Fabric& fabric) {
  std::string text = "fabric: t\nkind: infiniband\nnodes:\n";
  for (const Node& node : fabric.nodes())
    text += fmt::format("  - {{name: {}, kind: {}}}\n", node.name,
                        node.kind == NodeKind::host ? "host" : "switch");
  text += "links:\n";
  for (const Link& link : fabric.links())
    text += fmt::format("  - {{a: {}, b: {}}}\n", fabric.name_of(fabric.port(link.a).node),
                        fabric.name_of(fabric.port(link.b).node));
  const auto dump = files::parse_ibnetdiscover(files::write_ibnetdiscover(fabric, design_inventory(fabric)));
  return {build_infiniband_fabric(dump.value(), "dump").value().fabric,
          files::parse_fabric_file(text, "t").value().fabric};
}

TEST(TreeLevels, AreTheTiersOfADumpAndOfAFile) {
  for (const Fabric& read : read_back(made_of({8, 8, 1, 0}, kTwoByTwo))) {
    EXPECT_EQ(read.node(*read.find_node("sw2")).tier, Tier::spine);
    EXPECT_EQ(read.node(*read.find_node("sw0")).tier, Tier::leaf);
  }
}

TEST(TreeLevels, OfATallTreeAreTiersThatTheFileNames) {
  const auto tall =
      made_of({2, 2, 0, 0, 0, 0, 0, 0}, {{0, 2}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}, {6, 7}});
  for (const Fabric& read : read_back(tall)) {
    EXPECT_EQ(read.node(*read.find_node("sw4")).tier, Tier::tier4);
    EXPECT_EQ(read.node(*read.find_node("sw6")).tier, Tier::tier6);
    EXPECT_EQ(read.node(*read.find_node("sw7")).tier, Tier::tier6) << "the last has no end";
    const auto again = files::parse_fabric_file(files::write_fabric_file(read), "t");
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->fabric.node(*read.find_node("sw5")).tier, Tier::tier5);
  }
}

}  // namespace
}  // namespace weft
