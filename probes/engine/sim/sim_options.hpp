// What a simulated fabric is like.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "topology/model/fault.hpp"
#include "topology/routing/ecmp_routing.hpp"
#include "topology/routing/forwarding_tables.hpp"

namespace weft::sim {

struct SimOptions {
  std::uint64_t seed = 1;
  std::vector<FaultSpec> faults = {};
  /// Who knows of a link that is down. `local` is what a lab does: some traffic is lost until someone acts.
  routing::Convergence convergence = routing::Convergence::local;
  /// Loss that every channel has, faulty or not: each its own, log-uniform from a tenth of this up to this.
  Fraction background_loss;
  /// Hop answers a switch gives per second (control-plane policing), of those that one request asks it for;
  /// absent: all.
  std::optional<double> answers_per_second = std::nullopt;
  /// InfiniBand: what the switches' tables make of a label, which is a LID; null: labels are hashed.
  std::shared_ptr<const routing::ForwardingTables> tables = nullptr;
  /// Switches that never answer a hop probe.
  std::vector<NodeId> silent = {};
  std::vector<HostStall> stalls = {};
  /// By which switches choose among equal next hops.
  routing::HashOptions hash = {};
  std::vector<NodeId> structureless = {};  // switches without structure in their hashes, whatever `hash` says
  /// Of the answers of switches to hop probes, besides what the channels lose.
  Fraction answers_lost;
};

}  // namespace weft::sim
