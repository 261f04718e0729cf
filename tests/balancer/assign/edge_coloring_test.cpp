#include "balancer/assign/edge_coloring.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace weft::assign {
namespace {

std::vector<BipartiteEdge> random_edges(std::uint32_t lefts, std::uint32_t rights, std::size_t count,
                                        std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<BipartiteEdge> edges;
  for (std::size_t i = 0; i < count; ++i)
    edges.push_back(
        {static_cast<std::uint32_t>(random() % lefts), static_cast<std::uint32_t>(random() % rights)});
  return edges;
}

/// No colour more often at a vertex than its share of the vertex' edges, rounded up.
void expect_even(const std::vector<BipartiteEdge>& edges, std::uint32_t colours) {
  const auto colour = color_edges(edges, colours);
  ASSERT_EQ(colour.size(), edges.size());
  std::map<std::pair<bool, std::uint32_t>, std::vector<std::uint32_t>> uses;
  for (std::size_t e = 0; e < edges.size(); ++e) {
    ASSERT_LT(colour[e], colours);
    for (const auto& vertex : {std::pair(false, edges[e].left), std::pair(true, edges[e].right)}) {
      auto& count = uses[vertex];
      count.resize(colours);
      ++count[colour[e]];
    }
  }
  for (const auto& [vertex, count] : uses) {
    std::uint32_t degree = 0;
    for (const std::uint32_t n : count) degree += n;
    for (const std::uint32_t n : count)
      ASSERT_LE(n, (degree + colours - 1) / colours) << "colours " << colours << " degree " << degree;
  }
}

TEST(EdgeColoring, NoColourStandsAtAVertexMoreThanItsShareRoundedUp) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed)
    for (const std::uint32_t colours : {1U, 2U, 3U, 4U, 5U, 7U, 8U, 12U, 13U, 31U, 32U, 63U})
      expect_even(random_edges(6, 9, 50 * seed, seed), colours);
}

TEST(EdgeColoring, ManyParallelEdgesAreSpreadOverAllColours) {
  expect_even(std::vector<BipartiteEdge>(77, {0, 0}), 7);
  expect_even(std::vector<BipartiteEdge>(78, {3, 5}), 7);
}

TEST(EdgeColoring, ConsecutiveEdgesOfAPairGetDifferentColours) {
  const std::vector<BipartiteEdge> edges{{0, 0}, {0, 0}, {0, 0}, {0, 0}, {1, 0}, {1, 0}, {1, 0}, {1, 0}};
  const auto colour = color_edges(edges, 4);
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = i + 1; j < 4; ++j) EXPECT_NE(colour[i], colour[j]);
}

TEST(EdgeColoring, NoEdgesAreNoTrouble) { EXPECT_TRUE(color_edges({}, 4).empty()); }

TEST(EdgeColoring, TheSameEdgesGetTheSameColours) {
  const auto edges = random_edges(10, 10, 500, 3);
  EXPECT_EQ(color_edges(edges, 13), color_edges(edges, 13));
}

}  // namespace
}  // namespace weft::assign
