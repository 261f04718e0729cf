// Edge colouring of bipartite multigraphs, the theory behind the balancer: leaves (or pods) are the vertices,
// flows the edges, spines (or cores) the colours. By Koenig's theorem the edges of a bipartite graph of
// degree D can be coloured with D colours so that no two edges of one colour meet; cutting every vertex into
// parts of at most C edges extends that to any number of colours: each of C colours then stands at a vertex
// of degree d at most ceil(d / C) times (de Werra 1971). Pure and deterministic.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace weft::assign {

struct BipartiteEdge {
  std::uint32_t left = 0;
  std::uint32_t right = 0;
};

/// A colour, 0 to `colours` - 1, for every edge. No colour stands at a vertex of degree d more than
/// ceil(d / colours) times. Consecutive edges at a vertex get different colours wherever they fall into one
/// part of `colours` edges, so edges of a kind (the QPs of a pair, flows of like size) should stand together.
/// Time: edges x log2(colours) where colours is a power of two, somewhat more otherwise. colours > 0.
std::vector<std::uint32_t> color_edges(std::span<const BipartiteEdge> edges, std::uint32_t colours);

}  // namespace weft::assign
