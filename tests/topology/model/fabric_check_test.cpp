#include "topology/model/fabric_check.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/model/clos.hpp"
#include "topology/model/fabric_builder.hpp"

namespace weft {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const Bandwidth kRate = Bandwidth::gbit(100);

/// Nodes by the first letter of their names: h(ost), l(eaf), s(pine).
Fabric fabric_of(const std::vector<std::string>& names,
                 const std::vector<std::pair<std::string, std::string>>& cables,
                 Bandwidth between_switches = kRate) {
  FabricBuilder builder("f", FabricKind::roce);
  for (const std::string& name : names) {
    const Tier tier = name[0] == 'h' ? Tier::host : name[0] == 'l' ? Tier::leaf : Tier::spine;
    EXPECT_TRUE(builder.add_node(
        {.name = name, .kind = name[0] == 'h' ? NodeKind::host : NodeKind::switch_, .tier = tier}));
  }
  for (const auto& [a, b] : cables)
    builder.connect(*builder.find_node(a), *builder.find_node(b), a[0] == 'h' ? kRate : between_switches);
  return std::move(builder).build();
}

TEST(FabricCheck, FindsNothingOddInAWholeFabric) {
  EXPECT_THAT(oddities(*make_clos({.leaves = 4, .spines = 2, .hosts_per_leaf = 3})), IsEmpty());
  EXPECT_THAT(
      oddities(*make_pod_clos({.pods = 2, .leaves = 2, .spines = 2, .cores = 4, .hosts_per_leaf = 2})),
      IsEmpty());
  EXPECT_THAT(oddities(*make_rails({.groups = 2, .hosts_per_group = 2, .rails = 4, .spines = 2})), IsEmpty());
}

TEST(FabricCheck, NamesTheNicsThatHaveNoWayToTheLargestPart) {
  const auto fabric = fabric_of({"h1", "h2", "h3", "l1", "l2"}, {{"h1", "l1"}, {"h2", "l1"}, {"h3", "l2"}});
  EXPECT_THAT(oddities(fabric), ElementsAre("NIC h3 has no way to h1"));
}

TEST(FabricCheck, AHostWithCablesToTwoPartsDoesNotJoinThemForItDoesNotForward) {
  const auto fabric =
      fabric_of({"h1", "h2", "h3", "l1", "l2"}, {{"h1", "l1"}, {"h2", "l1"}, {"h3", "l1"}, {"h3", "l2"}});
  EXPECT_THAT(oddities(fabric), ElementsAre(AllOf(HasSubstr("h3/p2"), HasSubstr("has no way to h1"))));
}

TEST(FabricCheck, NamesANodeWithoutACable) {
  const auto fabric = fabric_of({"h1", "h2", "h3", "l1"}, {{"h1", "l1"}, {"h2", "l1"}});
  EXPECT_THAT(oddities(fabric), ElementsAre("h3 has no cable"));
}

TEST(FabricCheck, NamesALeafWithFewerUplinksThanItsFellows) {
  const auto fabric = fabric_of({"h1", "h2", "l1", "l2", "s1", "s2"},
                                {{"h1", "l1"}, {"h2", "l2"}, {"l1", "s1"}, {"l1", "s2"}, {"l2", "s1"}});
  EXPECT_THAT(oddities(fabric), ElementsAre(AllOf(HasSubstr("l2 has"), HasSubstr("others of its tier"))));
}

TEST(FabricCheck, SaysThatThereIsNothingToTestWithLessThanTwoNics) {
  EXPECT_THAT(oddities(fabric_of({"h1", "l1"}, {{"h1", "l1"}})),
              ElementsAre(HasSubstr("fewer than two NICs")));
}

TEST(FabricCheck, OfEachSortAtMostSoManyLinesAreToldAndHowManyMoreThereAre) {
  std::vector<std::string> names{"h1", "h2", "l1"};
  for (int bare = 3; bare < 9; ++bare) names.push_back("h" + std::to_string(bare));
  const auto fabric = fabric_of(names, {{"h1", "l1"}, {"h2", "l1"}});
  EXPECT_THAT(oddities(fabric, 2),
              ElementsAre("h3 has no cable", "h4 has no cable", "... and 4 more nodes without a cable"));
}

TEST(FabricCheck, SumsUpNodesByTierAndLinksByTheTiersTheyJoinAndRate) {
  const auto summary =
      summarise(fabric_of({"h1", "h2", "l1", "l2", "s1"},
                          {{"h1", "l1"}, {"h2", "l2"}, {"l1", "s1"}, {"l2", "s1"}}, Bandwidth::gbit(400)));
  EXPECT_EQ(summary.nics, 2u);
  ASSERT_EQ(summary.nodes.size(), 3u);
  EXPECT_EQ(summary.nodes[0].what, "host");
  EXPECT_EQ(summary.nodes[0].count, 2u);
  EXPECT_EQ(summary.nodes[1].what, "leaf");
  EXPECT_EQ(summary.nodes[2].what, "spine");
  EXPECT_EQ(summary.nodes[2].count, 1u);
  ASSERT_EQ(summary.links.size(), 2u);
  EXPECT_THAT(summary.links[0].what, AllOf(HasSubstr("host to leaf"), HasSubstr("100")));
  EXPECT_THAT(summary.links[1].what, AllOf(HasSubstr("leaf to spine"), HasSubstr("400")));
  EXPECT_EQ(summary.links[1].count, 2u);
}

}  // namespace
}  // namespace weft
