// What assigning a phase consists of, whichever solver picks the routes: internal to this folder.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "balancer/assign/assign.hpp"
#include "balancer/assign/skeleton.hpp"

namespace weft::assign {

/// What all phases of a demand share. Holds a reference to the fabric.
struct Ground {
  Ground(const Fabric& on, const AssignOptions& options);
  /// Whole and regular: no pair of leaves can be the bottleneck.
  bool regular() const { return skeleton && skeleton->whole(); }

  const Fabric& fabric;
  Capacities capacities;
  Routes routes;
  std::optional<Skeleton> skeleton;
};

/// A route for every item of the instance, given the bounds.
using Solve = std::function<std::vector<SwitchRoute>(Instance&, const Bounds&)>;

/// Bounds, routes by `solve`, labels and loads of one phase, one way. `settled`: the routes stand, although
/// the search for the bound of the labels may come upon better ones.
PhaseAssignment assign_phase(const Ground& ground, const demand::Phase& phase, const AssignOptions& options,
                             const Solve& solve, bool settled = false);

/// The flows of `phase` turned round: what the receivers send back.
demand::Phase reversed(const demand::Phase& phase);

/// Joins the assignment of reversed(phase) to the QPs it belongs to.
void join_reverse(PhaseAssignment& answer, const PhaseAssignment& back);

}  // namespace weft::assign
