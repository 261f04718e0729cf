#include "collectors/report/fabric_drawing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectors/report/fabric_layout.hpp"
#include "topology/model/clos.hpp"

namespace weft::report {
namespace {

using ::testing::HasSubstr;

TEST(FabricLayout, PutsEachTierAboveTheOneBelowAndNoTwoNodesOnEachOther) {
  const auto fabric =
      make_pod_clos({.pods = 4, .leaves = 2, .spines = 2, .cores = 4, .hosts_per_leaf = 4}).value();
  const auto layout = layout_of(fabric);
  for (std::uint32_t a = 0; a < fabric.node_count(); ++a)
    for (std::uint32_t b = 0; b < fabric.node_count(); ++b) {
      const NodeBox& one = layout.nodes[a];
      const NodeBox& other = layout.nodes[b];
      if (fabric.node(NodeId(a)).tier > fabric.node(NodeId(b)).tier) {
        EXPECT_LT(one.y + one.height, other.y);
      }
      if (a != b && one.y == other.y) {
        EXPECT_GE(std::abs(one.x - other.x), (one.width + other.width) / 2);
      }
      EXPECT_GE(one.x - one.width / 2, 0);
      EXPECT_LE(one.x + one.width / 2, layout.width);
      EXPECT_LE(one.y + one.height / 2, layout.height);
    }
}

TEST(FabricDrawing, HasEveryNodeAndEveryCable) {
  const auto fabric = make_rails({.groups = 2, .hosts_per_group = 4, .rails = 4, .spines = 4}).value();
  const auto svg = fabric_svg(fabric);
  const auto dot = fabric_dot(fabric);
  for (const Node& node : fabric.nodes()) {
    EXPECT_THAT(svg, HasSubstr(">" + node.name + "</text>"));
    EXPECT_THAT(dot, HasSubstr("\"" + node.name + "\""));
  }
  for (std::uint32_t l = 0; l < fabric.link_count(); ++l)
    EXPECT_THAT(svg, HasSubstr(fabric.name_of(LinkId(l))));
  EXPECT_THAT(dot, HasSubstr("\"host1\" -- \"leaf1\" [taillabel=\"p1\", headlabel=\"p1\"]"));
}

}  // namespace
}  // namespace weft::report
