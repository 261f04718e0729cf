// What a simulated fabric is like.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "topology/base/ip.hpp"
#include "topology/model/fault.hpp"
#include "topology/routing/ecmp_routing.hpp"
#include "topology/routing/forwarding_tables.hpp"

namespace weft::sim {

/// What routers without an address of their own answer from: the IPv4 dummy address (RFC 7600, 4.8); and, for
/// it stands in no fabric, one of the discard-only prefix (RFC 6666).
inline const IpAddress kAnonymous(IpAddress::V4{192, 0, 0, 8});
inline const IpAddress kAnonymous6(IpAddress::V6{1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8});

struct SimOptions {
  std::uint64_t seed = 1;
  std::vector<FaultSpec> faults = {};
  /// Who knows of a link that is down. `local` is what a lab does: some traffic is lost until someone acts.
  routing::Convergence convergence = routing::Convergence::local;
  /// Loss that every channel has, faulty or not: each its own, log-uniform from a tenth of this up to this.
  Fraction background_loss;
  /// Hop answers a switch gives per second (control-plane policing), to all NICs of a batch together; absent:
  /// all.
  std::optional<double> answers_per_second = std::nullopt;
  /// InfiniBand: what the switches' tables make of a label, which is a LID; null: labels are hashed.
  std::shared_ptr<const routing::ForwardingTables> tables = nullptr;
  /// Switches that never answer a hop probe.
  std::vector<NodeId> silent = {};
  /// Switches that answer from an address that tells nothing of them (kAnonymous).
  std::vector<NodeId> anonymous = {};
  /// Switches that choose anew for every packet. Traces show it packet by packet; the probes of one spec, and
  /// a flow, go one way, drawn for each batch.
  std::vector<NodeId> spraying = {};
  /// From then on, on the simulator's clock, all switches choose by other hashes; absent: never.
  std::optional<Nanoseconds> routes_change = std::nullopt;
  std::vector<HostStall> stalls = {};
  /// By which switches choose among equal next hops.
  routing::HashOptions hash = {};
  std::vector<NodeId> structureless = {};  // switches without structure in their hashes, whatever `hash` says
  /// Of the answers of switches to hop probes, besides what the channels lose.
  Fraction answers_lost;
};

}  // namespace weft::sim
