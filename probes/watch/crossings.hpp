// crossings: what the probes of one second say of an incident, whether it goes on: how many came through its
// place, and how many were lost there. Both are counted of the same rows, else a second of which not all is
// known looks cleaner than it was. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "probes/watch/look.hpp"
#include "topology/findings/incident.hpp"

namespace weft::watch {

/// An incident and the share of the packets that it takes, 0..1; 0: it takes none (a delay).
struct WatchedIncident {
  const Incident* incident = nullptr;
  double loss = 0;
};

struct Crossed {
  std::uint64_t passed = 0;  // over the channel of it that the fewest passed, of those that the plan covers
  std::uint64_t lost = 0;    // there, for certain
  double beside =
      0;  // nats that it goes on, by losses that a lesser incident on the same path may have caused
};

/// One second under one plan.
struct PlanSecond {
  const StandingPlan* plan = nullptr;
  const Looker* looker = nullptr;  // of that plan
  ScaleSums sums;
};

/// `told`, by node: hosts that told of that second; a row that asks another one says nothing, unless that
/// host itself is the place: it may be away. Nor does a row over the place of an open incident that takes
/// more: that one is judged first. `seconds`: of the plan of now and of those before it, at least one.
Crossed crossed(const Fabric& fabric, std::span<const PlanSecond> seconds, const std::vector<bool>& told,
                const WatchedIncident& mine, std::span<const WatchedIncident> all);

}  // namespace weft::watch
