#include "tests/bench/support/random_paths.hpp"

#include <algorithm>
#include <cmath>

#include "topology/base/check.hpp"
#include "topology/model/clos.hpp"

namespace weft::bench {
namespace {

Fabric made(Result<Fabric> fabric) {
  WEFT_CHECK(fabric.has_value());
  return std::move(*fabric);
}

}  // namespace

double uniform(Random& random, double low, double high) {
  return std::uniform_real_distribution(low, high)(random);
}

double log_uniform(Random& random, double low, double high) {
  return std::exp(uniform(random, std::log(low), std::log(high)));
}

std::size_t pick(Random& random, std::size_t below) {
  return std::uniform_int_distribution<std::size_t>(0, below - 1)(random);
}

std::uint64_t binomial(Random& random, std::uint64_t n, double p) {
  // Below one expected loss by inversion of the geometric gaps: far faster than the library's set-up.
  if (p <= 0) return 0;
  if (p * static_cast<double>(n) > 5)
    return std::binomial_distribution<std::uint64_t>(n, std::min(p, 1.0))(random);
  const double log_pass = std::log1p(-p);
  std::uint64_t count = 0;
  double at = 0;
  while (true) {
    at += std::floor(std::log(1.0 - uniform(random, 0, 1)) / log_pass) + 1;
    if (at > static_cast<double>(n)) return count;
    ++count;
  }
}

Fabric fat_tree_k10() {
  return made(make_pod_clos(
      {.name = "k10", .pods = 10, .leaves = 5, .spines = 5, .cores = 25, .hosts_per_leaf = 15}));
}
Fabric leaf_spine_120x90() {
  return made(make_clos({.name = "120x90", .leaves = 120, .spines = 90, .hosts_per_leaf = 10}));
}
Fabric rails_24576() {
  return made(make_rails({.name = "rails",
                          .groups = 12,
                          .hosts_per_group = 32,
                          .rails = 8,
                          .spines = 32,
                          .pods = 8,
                          .cores = 256}));
}

RandomPaths::RandomPaths(const Fabric& fabric, double removed_share, Random& random) : fabric_(fabric) {
  removed_.assign(fabric.link_count(), false);
  out_.resize(fabric.node_count());
  distance_.resize(fabric.node_count());
  for (std::uint32_t l = 0; l < fabric.link_count(); ++l)
    if (fabric.between_switches(LinkId(l)) && removed_share > 0)
      removed_[l] = uniform(random, 0, 1) < removed_share;
  for (std::uint32_t c = 0; c < fabric.channel_count(); ++c) {
    const ChannelId channel(c);
    if (!fabric.between_switches(channel) || !is_there(channel)) continue;
    out_[fabric.source_node(channel).value()].push_back({channel, fabric.target_node(channel)});
    switch_channels_.push_back(channel);
  }
}

const std::vector<std::uint8_t>& RandomPaths::distances_to(NodeId leaf) {
  auto& distance = distance_[leaf.value()];
  if (!distance.empty()) return distance;
  distance.assign(fabric_.node_count(), 255);
  distance[leaf.value()] = 0;
  std::vector<NodeId> ring{leaf};
  for (std::uint8_t d = 1; !ring.empty(); ++d) {
    std::vector<NodeId> next;
    for (const NodeId node : ring)
      for (const Hop& hop : out_[node.value()])
        if (auto& at = distance[hop.target.value()]; at == 255) {
          at = d;
          next.push_back(hop.target);
        }
    ring = std::move(next);
  }
  return distance;
}

const std::vector<ChannelId>& RandomPaths::next_hops(NodeId at, const std::vector<std::uint8_t>& distance) {
  hops_.clear();
  const int nearer = distance[at.value()] - 1;
  for (const Hop& hop : out_[at.value()])
    if (distance[hop.target.value()] == nearer) hops_.push_back(hop.channel);
  return hops_;
}

std::vector<ChannelId> RandomPaths::draw(PortId from, PortId to, Random& random) {
  const ChannelId first = *fabric_.channel_from(from);
  const ChannelId last = *fabric_.channel_into(to);
  const auto& distance = distances_to(fabric_.source_node(last));
  std::vector<ChannelId> path{first};
  for (NodeId at = fabric_.target_node(first); at != fabric_.source_node(last);) {
    if (distance[at.value()] == 255) return {};
    const auto& hops = next_hops(at, distance);
    path.push_back(hops[pick(random, hops.size())]);
    at = fabric_.target_node(path.back());
  }
  path.push_back(last);
  return path;
}

std::vector<ChannelId> RandomPaths::draw(Random& random) {
  const auto nics = fabric_.nics();
  const auto leaf = [&](PortId nic) { return fabric_.target_node(*fabric_.channel_from(nic)); };
  while (true) {
    const PortId from = nics[pick(random, nics.size())];
    const PortId to = nics[pick(random, nics.size())];
    if (leaf(from) == leaf(to) || fabric_.port(from).node == fabric_.port(to).node) continue;
    if (auto path = draw(from, to, random); !path.empty()) return path;
  }
}

std::vector<std::vector<ChannelId>> RandomPaths::all(PortId from, PortId to, std::size_t most) {
  const ChannelId first = *fabric_.channel_from(from);
  const ChannelId last = *fabric_.channel_into(to);
  const auto& distance = distances_to(fabric_.source_node(last));
  std::vector<std::vector<ChannelId>> open{{first}};
  std::vector<std::vector<ChannelId>> done;
  while (!open.empty() && done.size() < most) {
    auto path = std::move(open.back());
    open.pop_back();
    const NodeId at = fabric_.target_node(path.back());
    if (at == fabric_.source_node(last)) {
      path.push_back(last);
      done.push_back(std::move(path));
      continue;
    }
    for (const ChannelId hop : next_hops(at, distance)) {
      open.push_back(path);
      open.back().push_back(hop);
    }
  }
  return done;
}

}  // namespace weft::bench
