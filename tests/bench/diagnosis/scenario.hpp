// Scenarios for the evaluation of the diagnosis: faults in fabrics with random equal-cost paths, and the
// losses they cause, all by seed.
#pragma once

#include <vector>

#include "tests/bench/support/random_paths.hpp"
#include "topology/findings/observation.hpp"

namespace weft::bench {

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
