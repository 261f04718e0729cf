#include "balancer/assign/edge_coloring.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "topology/base/check.hpp"

namespace weft::assign {
namespace {

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

/// Edges over parts: vertices cut so that none has more than `colours` edges. Left parts come first.
struct Parts {
  std::vector<std::uint32_t> left;   // per edge
  std::vector<std::uint32_t> right;  // per edge
  std::uint32_t count = 0;
};

/// The part of each edge's end, numbered from `first`; answers the number after the last part.
template <class End>
std::uint32_t cut(std::span<const BipartiteEdge> edges, std::uint32_t colours, std::uint32_t first, End end,
                  std::vector<std::uint32_t>& part) {
  std::uint32_t vertices = 0;
  for (const auto& edge : edges) vertices = std::max(vertices, end(edge) + 1);
  std::vector<std::uint32_t> degree(vertices);
  for (const auto& edge : edges) ++degree[end(edge)];
  std::vector<std::uint32_t> base(vertices);
  for (std::uint32_t v = 0; v < vertices; ++v) {
    base[v] = first;
    first += (degree[v] + colours - 1) / colours;
    degree[v] = 0;
  }
  part.resize(edges.size());
  for (std::size_t e = 0; e < edges.size(); ++e) {
    const std::uint32_t v = end(edges[e]);
    part[e] = base[v] + degree[v]++ / colours;
  }
  return first;
}

class Colouring {
 public:
  Colouring(std::span<const BipartiteEdge> edges, std::uint32_t colours) : colour_(edges.size()) {
    const auto rights = cut(
        edges, colours, 0, [](const BipartiteEdge& e) { return e.left; }, parts_.left);
    parts_.count = cut(
        edges, colours, rights, [](const BipartiteEdge& e) { return e.right; }, parts_.right);
    degree_.resize(parts_.count);
    start_.resize(parts_.count + 1);
    std::vector<std::uint32_t> all(edges.size());
    std::iota(all.begin(), all.end(), 0U);
    color(all, 0, colours);
  }

  std::vector<std::uint32_t> take() && { return std::move(colour_); }

 private:
  using Edges = std::vector<std::uint32_t>;

  /// Colours `edges`, of degree at most `colours`, with first .. first + colours - 1.
  void color(const Edges& edges, std::uint32_t first, std::uint32_t colours) {
    if (colours == 1) {
      for (const std::uint32_t e : edges) colour_[e] = first;
      return;
    }
    if (edges.empty()) return;
    if (colours % 2 == 1) return color_odd(edges, first, colours);
    auto [one, other] = split(edges);
    color(one, first, colours / 2);
    color(other, first + colours / 2, colours / 2);
  }

  /// One colour too many by halving, then the smallest colour is dissolved by alternating paths.
  void color_odd(const Edges& edges, std::uint32_t first, std::uint32_t colours) {
    auto [one, other] = split(edges);  // degrees at most (colours + 1) / 2
    const std::uint32_t half = (colours + 1) / 2;
    color(one, 0, half);
    color(other, half, half);
    std::vector<std::uint32_t> uses(colours + 1);
    for (const std::uint32_t e : edges) ++uses[colour_[e]];
    const auto least = static_cast<std::uint32_t>(std::ranges::min_element(uses) - uses.begin());
    Edges dissolved;
    for (const std::uint32_t e : edges) {
      if (colour_[e] == least) {
        dissolved.push_back(e);
        colour_[e] = kNone;
      } else if (colour_[e] == colours) {
        colour_[e] = least;
      }
    }
    insert(edges, dissolved, colours);
    for (const std::uint32_t e : edges) colour_[e] += first;
  }

  /// Gives each of `loose` a colour below `colours`, recolouring others of `edges` along alternating paths.
  void insert(const Edges& edges, const Edges& loose, std::uint32_t colours) {
    std::vector<std::uint32_t> at(std::size_t{parts_.count} * colours, kNone);  // part x colour -> edge
    const auto slot = [&](std::uint32_t part, std::uint32_t colour) -> std::uint32_t& {
      return at[std::size_t{part} * colours + colour];
    };
    for (const std::uint32_t e : edges)
      if (colour_[e] != kNone) slot(parts_.left[e], colour_[e]) = slot(parts_.right[e], colour_[e]) = e;
    const auto free_at = [&](std::uint32_t part) {
      for (std::uint32_t c = 0; c < colours; ++c)
        if (slot(part, c) == kNone) return c;
      WEFT_CHECK(false);
      return kNone;
    };
    for (const std::uint32_t e : loose) {
      const std::uint32_t a = free_at(parts_.left[e]);
      const std::uint32_t b = free_at(parts_.right[e]);
      if (slot(parts_.right[e], a) != kNone) flip(parts_.right[e], a, b, slot);
      colour_[e] = a;
      slot(parts_.left[e], a) = slot(parts_.right[e], a) = e;
    }
  }

  /// Swaps colours a and b along the path of those colours that leaves `part`, where b is free.
  template <class Slot>
  void flip(std::uint32_t part, std::uint32_t a, std::uint32_t b, Slot slot) {
    Edges path;
    for (std::uint32_t want = a, at = part; slot(at, want) != kNone; want = want == a ? b : a) {
      const std::uint32_t e = slot(at, want);
      path.push_back(e);
      at = parts_.left[e] == at ? parts_.right[e] : parts_.left[e];
    }
    for (const std::uint32_t e : path)
      slot(parts_.left[e], colour_[e]) = slot(parts_.right[e], colour_[e]) = kNone;
    for (const std::uint32_t e : path) {
      colour_[e] = colour_[e] == a ? b : a;
      slot(parts_.left[e], colour_[e]) = slot(parts_.right[e], colour_[e]) = e;
    }
  }

  /// Two halves, each with at most ceil(d / 2) of the d edges at every part: walks through the graph, edges
  /// dealt in turn. A walk that starts where the degree is odd ends at another such part; a closed walk has
  /// an even length, as the graph is bipartite.
  std::pair<Edges, Edges> split(const Edges& edges) {
    index(edges);
    std::pair<Edges, Edges> halves;
    halves.first.reserve(edges.size() / 2 + 1);
    halves.second.reserve(edges.size() / 2 + 1);
    used_.assign(edges.size(), false);
    for (const bool odd : {true, false})
      for (const std::uint32_t e : edges)
        for (const std::uint32_t part : {parts_.left[e], parts_.right[e]})
          if (!odd || degree_[part] % 2 == 1) walk(part, edges, halves);
    return halves;
  }

  void walk(std::uint32_t part, const Edges& edges, std::pair<Edges, Edges>& halves) {
    // An edge goes to the first half when it is walked from left to right.
    while (true) {
      while (cursor_[part] < start_[part + 1] && used_[incident_[cursor_[part]]]) ++cursor_[part];
      if (cursor_[part] == start_[part + 1]) return;
      const std::uint32_t i = incident_[cursor_[part]];
      used_[i] = true;
      const std::uint32_t e = edges[i];
      const bool forward = parts_.left[e] == part;
      (forward ? halves.first : halves.second).push_back(e);
      degree_[parts_.left[e]]--;
      degree_[parts_.right[e]]--;
      part = forward ? parts_.right[e] : parts_.left[e];
    }
  }

  /// The edges at every part, by position in `edges`.
  void index(const Edges& edges) {
    std::fill(degree_.begin(), degree_.end(), 0U);
    for (const std::uint32_t e : edges) ++degree_[parts_.left[e]], ++degree_[parts_.right[e]];
    start_[0] = 0;
    for (std::uint32_t p = 0; p < parts_.count; ++p) start_[p + 1] = start_[p] + degree_[p];
    cursor_.assign(start_.begin(), start_.end() - 1);
    incident_.resize(edges.size() * 2);
    for (std::uint32_t i = 0; i < edges.size(); ++i) {
      incident_[cursor_[parts_.left[edges[i]]]++] = i;
      incident_[cursor_[parts_.right[edges[i]]]++] = i;
    }
    cursor_.assign(start_.begin(), start_.end() - 1);
  }

  std::vector<std::uint32_t> colour_;
  Parts parts_;
  std::vector<std::uint32_t> degree_, start_, cursor_, incident_;
  std::vector<bool> used_;
};

}  // namespace

std::vector<std::uint32_t> color_edges(std::span<const BipartiteEdge> edges, std::uint32_t colours) {
  WEFT_CHECK(colours > 0);
  return Colouring(edges, colours).take();
}

}  // namespace weft::assign
