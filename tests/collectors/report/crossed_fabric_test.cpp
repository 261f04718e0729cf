// The fabric that runs crossed, of which there is no file: by the names of their channels alone.
#include "collectors/report/crossed_fabric.hpp"

#include <gtest/gtest.h>

namespace weft::report {
namespace {

std::optional<Fabric> crossed(std::vector<std::vector<std::string>> paths, std::size_t most = 100) {
  compare::MeasuredRun run;
  for (const auto& path : paths) {
    compare::MeasuredFlow flow;
    for (const std::string& channel : path) {
      flow.path.push_back(static_cast<std::uint32_t>(run.channels.size()));
      run.channels.push_back(channel);
    }
    run.flows.push_back(flow);
  }
  return crossed_fabric("test", std::span(&run, 1), most);
}

std::vector<std::string> over(const std::string& up, const std::string& down) {
  return {"h1->leaf1", up, down, "leaf2->h2"};
}

TEST(CrossedFabric, ParallelCablesAreApartByTheirPorts) {
  const auto fabric = crossed({over("leaf1/p5->spine1/p1", "spine1/p3->leaf2/p5"),
                               over("leaf1/p6->spine1/p2", "spine1/Ethernet1/4->leaf2/Ethernet1/6")});
  ASSERT_TRUE(fabric);
  EXPECT_EQ(fabric->link_count(), 6U);
  EXPECT_EQ(fabric->hosts().size(), 2U);
  const auto one = fabric->find_link("leaf1/p5--spine1/p1"), other = fabric->find_link("leaf1/p6--spine1/p2");
  ASSERT_TRUE(one && other);
  EXPECT_NE(*one, *other);
  EXPECT_TRUE(fabric->find_channel("spine1/Ethernet1/4->leaf2/Ethernet1/6"));
  EXPECT_FALSE(fabric->find_link("leaf1--spine1")) << "it would be either";
}

TEST(CrossedFabric, BothDirectionsOfACableAreOne) {
  const auto fabric = crossed({over("leaf1/p5->spine1/p1", "spine1->leaf2"),
                               {"h2->leaf2", "leaf2->spine1", "spine1/p1->leaf1/p5", "leaf1->h1"}});
  ASSERT_TRUE(fabric);
  EXPECT_EQ(fabric->link_count(), 4U);
}

TEST(CrossedFabric, IsDrawnFromProbesWhereNothingElseCrossedIt) {
  compare::MeasuredRun run{.channels = over("leaf1->spine1", "spine1->leaf2")};
  run.channels.emplace_back("h2->leaf2");
  run.probed.push_back({.path = {0, 1, 2, 3}, .hops = 4, .size = Bytes(256)});
  run.probed.push_back({.path = {0, 4}, .hops = 0, .size = Bytes(256)});  // there and back
  const auto fabric = crossed_fabric("test", std::span(&run, 1), 100);
  ASSERT_TRUE(fabric);
  EXPECT_EQ(fabric->link_count(), 4U);
  EXPECT_EQ(fabric->hosts().size(), 2U);
}

TEST(CrossedFabric, NamesThatMakeNoFabricAreNotDrawn) {
  EXPECT_FALSE(crossed({over("leaf1/p5->spine1/p1", "spine1/p1->leaf2/p5")})) << "two cables in a port";
  EXPECT_FALSE(crossed({over("leaf1/p65535->spine1/p1", "spine1->leaf2")})) << "no port left for h1";
  EXPECT_FALSE(crossed({over("leaf1/->spine1", "spine1->leaf2")}));
  EXPECT_FALSE(crossed({over("leaf1/p5->spine1/p1", "spine1->leaf2")}, 3)) << "too many";
  EXPECT_FALSE(crossed({}));
}

}  // namespace
}  // namespace weft::report
