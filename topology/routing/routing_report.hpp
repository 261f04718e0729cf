// What the forwarding tables of a fabric amount to: who cannot reach whom, loops, routes that can deadlock,
// how evenly the spines are used, which of the usual routing engines' promises hold.
#pragma once

#include "topology/routing/forwarding_tables.hpp"

namespace weft::routing {

struct RoutingReport {
  std::uint64_t routes = 0;       // (source NIC, destination LID), source and destination different
  std::uint64_t unreachable = 0;  // of these: no entry, a dead port, or a loop
  std::uint64_t looping = 0;      // of the unreachable: loops
  struct Broken {
    NodeId at;  // the switch where it ends, or one of the loop
    Lid lid;
    RouteEnd end;
  };
  std::vector<Broken> broken;  // the first kMaxExamples

  /// Channels that wait for each other in a ring: with full buffers they would stop for good. Empty: none.
  /// One virtual lane is assumed: a routing engine that parts lanes (lash, dfsssp, torus-2QoS) may show one
  /// that cannot happen.
  std::vector<ChannelId> credit_loop;

  std::vector<std::uint64_t> load;  // by channel: routes over it
  struct TierUse {
    std::vector<std::pair<NodeId, std::uint64_t>> switches;  // of the top tier: routes through each
    double busiest_over_mean = 1;
  };
  TierUse top;

  /// Switches by what is known of their adaptive routing. All of this report is of the tables alone.
  struct Adaptive {
    std::size_t on = 0;
    std::size_t other_service_levels = 0;
    std::size_t off = 0;
    std::size_t unknown = 0;
  };
  Adaptive adaptive;

  bool shortest = true;  // every route is as short as the fabric allows
  bool up_down = true;   // no route goes up again after it went down
};
inline constexpr std::size_t kMaxExamples = 20;

RoutingReport report_routing(const InfinibandFabric& fabric, const ForwardingTables& tables);

/// What the promises kept tell of the engine: "shortest paths, up then down: as minhop, updn and ftree
/// route".
std::string describe_engine(const RoutingReport& report);

/// "on at 8 of 10 switches: there a label takes any of the shortest ways; not known of 2".
std::string describe_adaptive(const RoutingReport::Adaptive& adaptive);

}  // namespace weft::routing
