// PathLearner: turns the answers to TTL-limited probes into paths. For every (source NIC, destination NIC,
// label) that was traced it knows one Route: the path, or the set of paths that fit what was seen, and
// whether the peer answered. A silent hop is filled in where the fabric leaves one way only; where it leaves
// several, the route is their set. Pure; not thread-safe. Paths go into the table given. Fabric, addresses
// and table must outlive it.
#pragma once

#include <bit>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "probes/datapath/probe_engine.hpp"
#include "topology/base/ids.hpp"
#include "topology/model/addressing.hpp"
#include "topology/model/path.hpp"
#include "topology/routing/shortest_paths.hpp"

namespace weft {
class Fabric;
}

namespace weft::plan {

struct Route {
  PathLabel label;
  PathSetId paths;
  /// The peer's echo came back, or was not asked for and the path is known. When false the paths are those
  /// the probe would have taken on from the last hop that answered (`answered_hops` of them).
  bool reached = false;
  std::uint16_t answered = 0;  // bit h - 1: hop h answered
  /// Up to the last that did.
  std::size_t answered_hops() const { return static_cast<std::size_t>(std::bit_width(answered)); }
};

/// A hop that answered from an address that no port and no switch of the fabric has.
struct Stranger {
  IpAddress address;
  PortId src;  // of the trace that met it first
  PortId dst;
  std::uint8_t hop = 0;
};

/// By which port a probe came in behind which node: two hops of a trace that answered one after the other.
struct Entry {
  NodeId before;
  NodeId node;
  /// Absent where the switch answers from one address for all its ports.
  std::optional<PortId> port = std::nullopt;
  friend auto operator<=>(const Entry&, const Entry&) = default;
};

struct PairRoutes {
  PortId src;
  PortId dst;
  std::vector<Route> routes;  // in the order learned until sort(); a label at most once
};

class PathLearner {
 public:
  PathLearner(const Fabric& fabric, const AddressBook& addresses, PathTable& table)
      : fabric_(&fabric), addresses_(&addresses), ways_(fabric), table_(&table) {}

  /// All answers to one trace (of one spec; a spec that was traced again gives all of them). False when
  /// nothing could be learned: no answer at all, or answers that fit no path of the fabric (counted in
  /// contradictions()). `peer_asked`: the trace went as far as the peer.
  bool learn(PortId src, PortId dst, PathLabel label, std::span<const datapath::HopAnswer> answers,
             bool peer_asked = true);

  /// Call when all traces are in. NICs none of whose traces was answered by anyone, while those of most
  /// others were, sent them all the same: each pair traced gets a route that nobody answered, over all the
  /// paths it may have taken. What becomes of its packets then tells whether the NIC is heard.
  void suppose_silent();

  /// Call when all traces are in. A flow that ended behind a switch with several ways on took none of those
  /// that as many flows are seen on as chance would have it: its route becomes those that are left.
  void narrow_ended();

  /// Call when all traces are in. Pairs by their NICs, routes by their labels: answers come in any order, and
  /// what is planned over them is the same for the same seed.
  void sort();

  /// Paths that are known without a trace (InfiniBand: from the switches' tables); several: switches on the
  /// way choose. Precondition: not empty.
  void adopt(PortId src, PortId dst, PathLabel label, std::span<const std::vector<ChannelId>> paths);

  const std::vector<PairRoutes>& pairs() const { return pairs_; }
  const PairRoutes* find(PortId src, PortId dst) const;
  const PathTable& table() const { return *table_; }
  routing::ShortestPathCache& ways() { return ways_; }
  std::size_t contradictions() const { return contradictions_; }

  /// What all traces saw, those too that contradict the fabric: how many of them, by entry.
  const std::map<Entry, std::uint32_t>& entries() const { return entries_; }

  /// Each address once, at most a thousand.
  const std::vector<Stranger>& strangers() const { return strangers_; }

  /// The routes whose peer answered, by pair and path, as the document `weft.pathmap/1` has them.
  PathMap path_map() const;

 private:
  struct Seen;
  std::vector<std::vector<ChannelId>> paths_that_fit(const Seen& seen);
  void note_entries(const Seen& seen);
  void note_stranger(PortId src, PortId dst, const datapath::HopAnswer& answer);
  void put(PortId src, PortId dst, const Route& route);
  PairRoutes& pair(PortId src, PortId dst);

  const Fabric* fabric_;
  const AddressBook* addresses_;
  routing::ShortestPathCache ways_;
  PathTable* table_;
  std::vector<PairRoutes> pairs_;
  std::unordered_map<std::uint64_t, std::size_t> pair_index_;
  std::size_t contradictions_ = 0;
  std::map<std::pair<PortId, PortId>, PathLabel> silent_;  // traces without an answer, one label a pair
  std::map<Entry, std::uint32_t> entries_;
  std::vector<Stranger> strangers_;
};

/// `count` labels of traced routes, one a queue pair: the paths in turn, so that the queue pairs of any two
/// differ by one at most, and of each path its labels in turn, the smallest first. Only of routes that are
/// known to one path and reached the peer; empty where there is none.
std::vector<PathLabel> even_labels(const PathTable& table, const PairRoutes& pair, std::size_t count);

}  // namespace weft::plan
