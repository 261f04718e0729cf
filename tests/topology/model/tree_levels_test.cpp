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
  auto levels = tree_levels(fabric);
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

TEST(TreeLevels, AreTheTiersOfADumpAndOfAFile) {
  const auto fabric = made_of({8, 8, 1, 0}, kTwoByTwo);
  const auto dumped =
      build_infiniband_fabric(
          parse_ibnetdiscover(write_ibnetdiscover(fabric, design_inventory(fabric))).value(), "dump")
          .value()
          .fabric;
  std::string text = "nodes:\n";
  for (const Node& node : fabric.nodes())
    text += fmt::format("  - {{name: {}, kind: {}}}\n", node.name,
                        node.kind == NodeKind::host ? "host" : "switch");
  text += "links:\n";
  for (std::uint32_t l = 0; l < fabric.link_count(); ++l) {
    const auto name = [&](PortId port) { return fabric.name_of(fabric.port(port).node); };
    text +=
        fmt::format("  - {{a: {}, b: {}}}\n", name(fabric.link(LinkId(l)).a), name(fabric.link(LinkId(l)).b));
  }
  const auto file = parse_fabric_file("fabric: t\nkind: infiniband\n" + text, "t");
  ASSERT_TRUE(file) << file.error().message;
  for (const Fabric& read : {dumped, file->fabric}) {
    EXPECT_EQ(read.node(*read.find_node("sw2")).tier, Tier::spine);
    EXPECT_EQ(read.node(*read.find_node("sw0")).tier, Tier::leaf);
  }
}

}  // namespace
}  // namespace weft
