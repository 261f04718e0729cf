// Scenarios for the evaluation of the diagnosis: fabrics, random equal-cost paths through them, faults and
// the losses they cause, all by seed.
#pragma once

#include <memory>
#include <random>
#include <vector>

#include "topology/findings/observation.hpp"
#include "topology/model/fabric.hpp"

namespace weft::bench {

using Random = std::mt19937_64;

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

/// Flow sizes: all `packets`, or Pareto of `shape`, scaled to the mean `packets` and cut at `cap`.
struct FlowSizes {
  double packets = 100;
  double shape = 0;  // 0: all equal
  double cap = 1e9;
  std::uint64_t draw(Random& random) const;
};

enum class Seen { one_way, sets, round_trips };
enum class FaultyKind { switch_channels, nic_channels, whole_switch };

struct Scenario {
  std::size_t probes = 25000;
  FlowSizes sizes;
  double least_loss = 0.002;
  double most_loss = 0.02;
  std::size_t most_faults = 8;  // 0 to this many, each number as likely
  double background = 1e-4;     // per channel uniform from 0 to this
  std::size_t stray = 0;        // single packets lost anywhere
  double removed = 0;           // share of links between switches that are gone
  Seen seen = Seen::one_way;
  FaultyKind kind = FaultyKind::switch_channels;
};

struct Run {
  Observations observations;
  std::vector<double> rate;       // true loss by channel
  std::vector<ChannelId> faults;  // ids ascending
  std::vector<NodeId> switches;   // that fail as a whole
};

class World {
 public:
  World(const Fabric& fabric, const Scenario& scenario, std::uint64_t seed);
  Run& run() { return run_; }
  /// Other backgrounds, faults and losses, by this seed, over the same paths.
  void redraw(std::uint64_t seed);
  /// Sends `packets` over a random path that crosses `through` and none of `around`; false where there is
  /// none among `tries`.
  bool probe_through(ChannelId through, const std::vector<ChannelId>& around, std::uint64_t packets,
                     int tries);

 private:
  void break_things();
  void plan_probe();
  void lose(Observation& probe);
  double passes(PathSetId paths) const;

  const Fabric& fabric_;
  const Scenario scenario_;
  Random random_;
  RandomPaths paths_;
  Run run_;
};

}  // namespace weft::bench
