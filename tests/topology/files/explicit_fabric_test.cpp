#include "topology/files/explicit_fabric.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::files {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

Result<ExplicitFabric> read(const std::string& nodes, const std::string& links,
                            FabricKind kind = FabricKind::roce) {
  WEFT_TRY(const auto node_tree, YamlTree::parse(nodes, "nodes.yaml"));
  WEFT_TRY(const auto link_tree, YamlTree::parse(links, "links.yaml"));
  return read_explicit_fabric("f", kind, node_tree.root(), link_tree.root());
}

constexpr const char* kNodes =
    "- {name: h1, kind: host}\n- {name: h2, kind: host, guest: true}\n- {name: l1, kind: switch}\n"
    "- {name: s1, kind: switch}\n";
constexpr const char* kLinks = "- {a: h1, b: l1}\n- {a: h2, b: l1/p7, rate: 100G}\n- {a: l1, b: s1}\n";

TEST(ExplicitFabric, ASwitchWithoutATierStandsByItsDistanceToTheNearestHost) {
  const auto read_back = read(kNodes, kLinks);
  ASSERT_TRUE(read_back) << read_back.error().message;
  const Fabric& fabric = read_back->fabric;
  EXPECT_EQ(fabric.node(*fabric.find_node("l1")).tier, Tier::leaf);
  EXPECT_EQ(fabric.node(*fabric.find_node("s1")).tier, Tier::spine);
  const auto told =
      read("- {name: h1, kind: host}\n- {name: l1, kind: switch, tier: core}\n", "- {a: h1, b: l1}\n");
  ASSERT_TRUE(told) << told.error().message;
  EXPECT_EQ(told->fabric.node(*told->fabric.find_node("l1")).tier, Tier::core);
}

TEST(ExplicitFabric, AnEndHasThePortThatItNamesAndElseTheNextFreeOne) {
  const auto read_back = read(kNodes, kLinks);
  ASSERT_TRUE(read_back) << read_back.error().message;
  const Fabric& fabric = read_back->fabric;
  const auto named = fabric.find_port("l1/p7");
  ASSERT_TRUE(named) << named.error().message;
  const LinkId link = *fabric.find_link("h2--l1");
  EXPECT_TRUE(fabric.link(link).a == *named || fabric.link(link).b == *named);
  EXPECT_EQ(fabric.link(link).rate, Bandwidth::gbit(100));
  EXPECT_EQ(fabric.link(*fabric.find_link("h1--l1")).rate, Bandwidth::gbit(400)) << "where none is given";
  EXPECT_EQ(fabric.ports_of(*fabric.find_node("l1")).size(), 3u);
}

TEST(ExplicitFabric, TellsWhichHostsAreGuests) {
  const auto read_back = read(kNodes, kLinks);
  ASSERT_TRUE(read_back) << read_back.error().message;
  EXPECT_THAT(read_back->guests, ElementsAre("h2"));
}

TEST(ExplicitFabric, AMistakeIsNamedByItsLineAndWhatStandsThere) {
  const auto message = [](const std::string& nodes, const std::string& links) {
    const auto failed = read(nodes, links);
    return failed ? std::string("it was read") : failed.error().message;
  };
  EXPECT_THAT(message("- {name: h1, kind: host}\n- {name: l1, kind: router}\n", "[]"),
              AllOf(HasSubstr("nodes.yaml:2"), HasSubstr("router")));
  EXPECT_THAT(message("- {name: h1, kind: host}\n- {name: h1, kind: host}\n", "[]"),
              AllOf(HasSubstr("nodes.yaml:2"), HasSubstr("h1")));
  EXPECT_THAT(message("- {name: l1, kind: switch, tier: top}\n", "[]"), HasSubstr("top"));
  EXPECT_THAT(message("- {name: l1, kind: switch, ports: [0]}\n", "[]"), HasSubstr("1 to 65535"));
  EXPECT_THAT(message("- {name: l1, kind: switch, guid: 0xzz}\n", "[]"), HasSubstr("GUID"));
  EXPECT_THAT(message(kNodes, "- {a: h1, b: l1}\n- {a: h1, b: l9}\n"),
              AllOf(HasSubstr("links.yaml:2"), HasSubstr("l9")));
  EXPECT_THAT(message(kNodes, "- {a: h1, b: l1/p7}\n- {a: h2, b: l1/p7}\n"), HasSubstr("links.yaml:2"));
  EXPECT_THAT(message(kNodes, "- {a: h1}\n"), HasSubstr("links.yaml:1"));
}

}  // namespace
}  // namespace weft::files
