// Large fabrics, and random equal-cost paths through them, by seed.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "topology/model/fabric.hpp"

namespace weft::bench {

using Random = std::mt19937_64;

double uniform(Random& random, double low, double high);
double log_uniform(Random& random, double low, double high);
std::size_t pick(Random& random, std::size_t below);
std::uint64_t binomial(Random& random, std::uint64_t n, double p);

Fabric fat_tree_k10();       // 125 switches, 750 hosts, 1,000 directed switch channels
Fabric leaf_spine_120x90();  // 21,600 directed switch channels
Fabric rails_24576();        // three tiers, 24,576 NICs

/// Draws shortest paths between NICs, every equal hop as likely as the others; a share of the links between
/// switches may be gone.
class RandomPaths {
 public:
  /// The fabric must outlive this.
  RandomPaths(const Fabric& fabric, double removed_share, Random& random);

  /// From one random NIC to another on a different leaf; empty when nothing leads there.
  std::vector<ChannelId> draw(Random& random);
  std::vector<ChannelId> draw(PortId from, PortId to, Random& random);
  /// All of them, up to `most`, in no order.
  std::vector<std::vector<ChannelId>> all(PortId from, PortId to, std::size_t most);
  /// Directed channels between switches that are there.
  const std::vector<ChannelId>& switch_channels() const { return switch_channels_; }

 private:
  const std::vector<std::uint8_t>& distances_to(NodeId leaf);
  /// Valid until the next call.
  const std::vector<ChannelId>& next_hops(NodeId at, const std::vector<std::uint8_t>& distance);
  bool is_there(ChannelId channel) const { return !removed_[Fabric::link_of(channel).value()]; }

  struct Hop {
    ChannelId channel;
    NodeId target;
  };
  const Fabric& fabric_;
  std::vector<bool> removed_;
  std::vector<std::vector<Hop>> out_;                // by node: to switches
  std::vector<std::vector<std::uint8_t>> distance_;  // by leaf node, made when asked for
  std::vector<ChannelId> hops_;
  std::vector<ChannelId> switch_channels_;
};

}  // namespace weft::bench
