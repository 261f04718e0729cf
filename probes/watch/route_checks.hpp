// RouteChecks: whether streams still take the routes of a plan, by the hops that their agents trace
// (stream_tracer.hpp). It says which hop tells a stream's route from others, and how often it is asked. Pure.
// Fabric, addresses and plan must outlive it.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "probes/watch/standing_plan.hpp"
#include "topology/model/addressing.hpp"

namespace weft::watch {

/// Traces of a NIC, and answers asked of a switch, at most. Mappings ask ten times as much of a switch.
inline constexpr double kTracesASecond = 1;
inline constexpr double kAnswersASecond = 10;

/// A stream whose hop is not the plan's.
struct MovedRoute {
  PortId src;
  PortId dst;
  PathLabel label;
  std::uint8_t hop = 0;
  IpAddress from;
};

/// For people.
std::string moved_text(const Fabric& fabric, const AddressBook& addresses, const MovedRoute& moved);

/// What an answer to a trace says of the route. A hop that is no switch of the fabric says nothing, nor does
/// a switch that comes before the hop that was asked: it has no way on, and what is lost is lost there.
enum class HopSays : std::uint8_t { nothing, fits, elsewhere };

class RouteChecks {
 public:
  /// `addresses`: null: nothing is traced.
  RouteChecks(const Fabric& fabric, const AddressBook* addresses, const StandingPlan& plan);

  /// To an assignment that assignment_of() made of the plan.
  void add_to(Assignment& assignment, NodeId host) const;

  /// The hop of this row answered from there: absent unless the row goes elsewhere.
  std::optional<MovedRoute> take(std::uint32_t row, const IpAddress& from);
  /// What an answer says of this plan, perhaps one to a trace under another one. A stream that the plan does
  /// not have: nothing.
  HopSays says(const MovedRoute& answer) const;
  /// Rows that went elsewhere when they were traced last.
  const std::set<std::uint32_t>& moved() const { return moved_; }
  /// Paths were mapped since, and are those of the plan.
  void forget_moved() { moved_.clear(); }

 private:
  std::uint8_t hop_to_ask(std::uint32_t row, const StandingStream& stream) const;
  HopSays says(const StandingStream& stream, std::uint8_t hop, const IpAddress& from) const;

  const Fabric* fabric_;
  const AddressBook* addresses_;
  const StandingPlan* plan_;
  std::vector<std::uint8_t> hops_;  // by row; 0: none tells
  double rate_ = 0;                 // of a NIC, a second
  std::set<std::uint32_t> moved_;
};

}  // namespace weft::watch
