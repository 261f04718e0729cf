// What a sweep is asked to do. Validated by the command; the rest of the session takes it as it is.
#pragma once

#include <cstdint>

#include "probes/datapath/flow_engine.hpp"
#include "probes/diagnosis/coverage.hpp"
#include "probes/diagnosis/diagnose.hpp"
#include "probes/plan/pattern_plan.hpp"
#include "topology/base/units.hpp"

namespace weft::session {

/// Of the budget, where ports without an agent are asked for echoes.
inline constexpr double kEchoShare = 0.18;

enum class LoadLevel { none, light, full };

struct SweepOptions {
  LoadLevel load = LoadLevel::none;
  /// Time for probes and load together; the number of packets follows from it.
  Nanoseconds budget = std::chrono::seconds(15);
  double budget_seconds(double share) const { return std::chrono::duration<double>(budget).count() * share; }
  /// That every path of a pair was seen.
  Fraction confidence{0.99};
  std::uint64_t seed = 1;
  /// Hop answers a switch is asked for per second. 100: what the control-plane policing of switches commonly
  /// lets pass unharmed (the contract's default on live fabrics).
  double answers_per_second = 100;
  /// Small probes a NIC sends per second.
  double probes_per_second = 1000;
  /// Share of a link that large probes of one NIC may take: little, so that they fit through a link held to a
  /// tenth of its rate and tell loss by size from loss by load.
  Fraction large_probe_share{0.05};
  LoadPattern pattern = LoadPattern::links;
  plan::LabelChoice labels = plan::LabelChoice::assigned;  // of the flows of a pattern
  Tolerance tolerate;
  diagnosis::Detect detect;
  /// Of a round; where flows have a volume, the longest that one may take.
  Nanoseconds load_round = std::chrono::milliseconds(500);
  datapath::FlowOptions flow_options;  // of flows over queue pairs
  std::uint32_t qps = 1;               // that share the rate and the path of each flow
  bool busy_poll = false;              // PingRequest::busy_poll
  /// InfiniBand without queue pairs: probes have the one size of a management datagram, and there is no load.
  bool mads_alone = false;
  /// Round trips are the network's; false where they are those of a simulator on a busy machine.
  bool round_trips_count = true;
  /// Beyond the time that probes take, until an agent that does not answer is given up.
  Nanoseconds slack() const { return std::chrono::seconds(round_trips_count ? 5 : 15); }
  /// Read the counters of the NICs' devices before and after, as evidence.
  bool nic_counters = false;
  /// Small probes beside each flow of the load's own rounds, per second, where engines can: what round trips
  /// take under load. 0: none.
  double probes_beside_flows = 40;
  /// Between a round's last packet and the questions what arrived: longer than queues take to drain.
  Nanoseconds drain = std::chrono::milliseconds(100);
};

}  // namespace weft::session
