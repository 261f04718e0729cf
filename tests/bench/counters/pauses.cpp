#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "collectors/counters/pause_origin.hpp"
#include "tests/bench/counters/pieces.hpp"
#include "topology/base/splitmix.hpp"
#include "topology/model/clos.hpp"

namespace weft::bench::counters {
namespace {

using weft::counters::PauseCause;
using weft::counters::PauseOrigin;
using weft::counters::PortPause;

constexpr int kPauseCases = 2000;

/// Pauses spread from where they began against the traffic, a few ports of each switch at a time, and grow
/// or shrink at each; every port has some of its own, one in twenty tells none.
class DrawnPauses {
 public:
  DrawnPauses(const Fabric& fabric, std::uint64_t seed) : fabric_(fabric), random_(seed) {
    for (std::uint32_t p = 0; p < fabric.port_count(); ++p) pauses_.push_back({PortId(p)});
    for (std::uint32_t c = 0; c < fabric.channel_count(); ++c)
      if (uniform() < 0.05) stop(ChannelId(c), std::floor(20 * uniform()));
    const double kind = uniform();
    cause_ = kind < 0.7 ? PauseCause::slow_host : kind < 0.85 ? PauseCause::slow_switch : PauseCause::ring;
    if (cause_ == PauseCause::ring) {
      begin_ring();
      return;
    }
    do first_ = ChannelId(static_cast<std::uint32_t>(random_() % fabric.channel_count()));
    while (fabric.is_host(fabric.target_node(first_)) != (cause_ == PauseCause::slow_host));
    spread(first_, std::pow(10, 4 + 2 * uniform()), 3);
  }

  std::vector<PortPause> told() {
    std::vector<PortPause> some;
    for (const PortPause& one : pauses_)
      if (uniform() >= 0.05) some.push_back(one);
    return some;
  }
  bool is_right(const std::vector<PauseOrigin>& origins) const {
    if (origins.empty() || origins[0].cause != cause_) return false;
    return cause_ == PauseCause::ring || origins[0].ports[0] == fabric_.target(first_);
  }

 private:
  double uniform() { return std::uniform_real_distribution(0.0, 1.0)(random_); }
  void stop(ChannelId channel, double frames) {
    pauses_[fabric_.source(channel).value()].received += frames;
    pauses_[fabric_.target(channel).value()].sent += frames;
  }
  void spread(ChannelId channel, double frames, int hops) {
    stop(channel, std::floor(frames));
    const NodeId node = fabric_.source_node(channel);
    if (hops == 0 || fabric_.is_host(node)) return;
    for (int i = 0; i < 3; ++i) {
      const auto ports = fabric_.ports_of(node);
      const auto next = fabric_.channel_into(ports[random_() % ports.size()]);
      // A switch that began and is stopped in turn would be a ring.
      const bool is_ring = next && fabric_.source_node(*next) == fabric_.target_node(first_);
      if (next && !is_ring && *next != Fabric::reverse(channel))
        spread(*next, frames * (0.2 + 0.8 * uniform()), hops - 1);
    }
  }
  /// leaf - spine - another leaf - another spine, and back.
  void begin_ring() {
    std::vector<NodeId> nodes;
    for (const Tier tier : {Tier::leaf, Tier::spine, Tier::leaf, Tier::spine}) {
      NodeId node(0);
      do node = NodeId(static_cast<std::uint32_t>(random_() % fabric_.nodes().size()));
      while (fabric_.node(node).tier != tier || std::ranges::find(nodes, node) != nodes.end());
      nodes.push_back(node);
    }
    const double frames = std::pow(10, 4 + 2 * uniform());
    for (std::size_t i = 0; i < 4; ++i)
      for (std::uint32_t c = 0; c < fabric_.channel_count(); ++c)
        if (fabric_.source_node(ChannelId(c)) == nodes[i] &&
            fabric_.target_node(ChannelId(c)) == nodes[(i + 1) % 4])
          stop(ChannelId(c), std::floor(frames * (0.5 + uniform())));
  }

  const Fabric& fabric_;
  SplitMix64 random_;
  PauseCause cause_ = PauseCause::slow_host;
  ChannelId first_{0};
  std::vector<PortPause> pauses_;
};

}  // namespace

void measure_pauses(Figures& figures) {
  const Fabric fabric = make_clos({.leaves = 16, .spines = 8, .hosts_per_leaf = 16}).value();
  double right = 0, by_most = 0;
  for (std::uint64_t seed = 1; seed <= kPauseCases; ++seed) {
    DrawnPauses draw(fabric, seed);
    const auto told = draw.told();
    right += draw.is_right(pause_origins(fabric, told));
    // The comparator: the port that sent most pause frames.
    const auto most = std::ranges::max_element(told, {}, &PortPause::sent);
    const bool is_host = fabric.is_host(fabric.port(most->port).node);
    by_most += draw.is_right(
        {{is_host ? PauseCause::slow_host : PauseCause::slow_switch, {most->port}, {}, most->sent}});
  }
  figures.add("pause_origin", right / kPauseCases, "at least 0.98");
  figures.add("pause_most_sent", by_most / kPauseCases);
}

}  // namespace weft::bench::counters
