// EcmpRouting: label -> path, as a fabric of ECMP routers would take it: shortest paths to the switch of the
// destination NIC, one of the equal next hops by each device's own hash. For the simulator and for
// prediction. A forwarding column (all switches towards one destination switch) is computed when first asked
// for and kept: a few bytes a switch, one bit a port. The fabric must outlive the routing; path_of may be
// called by several threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "topology/base/ids.hpp"
#include "topology/base/splitmix.hpp"
#include "topology/model/addressing.hpp"
#include "topology/model/fabric.hpp"
#include "topology/model/packet_fields.hpp"
#include "topology/model/path.hpp"
#include "topology/routing/switch_hash.hpp"

namespace weft::routing {

// The hash by which a device picks one of several equal next hops. Every device has its own seed: with one
// seed for all, devices of one tier would choose alike and leave paths unused (polarisation).

/// What a fabric hashes: who sends to whom with which label.
struct FlowKey {
  std::uint64_t ends = 0;
  std::uint64_t label = 0;

  static constexpr FlowKey of(PortId src, PortId dst, PathLabel label) {
    return {std::uint64_t{src.value()} << 32 | dst.value(), label.value()};
  }
};

constexpr std::uint64_t device_seed(std::uint64_t fabric_seed, NodeId device) {
  return mix_bits(fabric_seed ^ mix_bits(device.value() + kSplitMixStep));
}

/// Which of `choices` equal next hops a device takes: 0 ... choices - 1, each as often. Precondition: choices
/// > 0.
constexpr std::uint32_t choose(std::uint64_t seed, FlowKey key, std::uint32_t choices) {
  const std::uint64_t hash = mix_bits(mix_bits(seed ^ key.ends) ^ key.label);
  return static_cast<std::uint32_t>((hash >> 32) * choices >> 32);
}

// SwitchGraph: the switches of a fabric and the channels between them, packed for walking. Hosts do not
// forward, so they are no part of it. Switches are numbered 0 ... switch_count() - 1 in the order of their
// node ids.

using SwitchIndex = Strong<struct SwitchIndexTag>;

/// A channel to a neighbouring switch.
struct SwitchEdge {
  ChannelId channel;
  SwitchIndex to;
};

class SwitchGraph {
 public:
  explicit SwitchGraph(const Fabric& fabric);

  std::size_t switch_count() const { return offsets_.size() - 1; }
  std::optional<SwitchIndex> index_of(NodeId node) const { return index_[node.value()]; }
  /// The channels that leave a switch for another, in the order of its ports.
  std::span<const SwitchEdge> edges(SwitchIndex from) const {
    return std::span(edges_).subspan(offsets_[from.value()],
                                     offsets_[from.value() + 1] - offsets_[from.value()]);
  }

 private:
  std::vector<std::optional<SwitchIndex>> index_;  // by node
  std::vector<std::uint32_t> offsets_{0};
  std::vector<SwitchEdge> edges_;
};

/// What the devices know of a dead link.
enum class Convergence {
  full,   // all of them: routes follow the shortest paths over live links
  local,  // its two ends only: they hash over what they have left, while others still send to a device that
          // may have no way on (static routes, as in the lab; the moments before a routing protocol reacts)
};

struct RoutingOptions {
  std::uint64_t seed = 1;
  std::vector<LinkId> dead = {};
  Convergence convergence = Convergence::full;
  HashOptions hash = {};
  std::vector<NodeId> structureless = {};  // devices that hash so whatever `hash` says
  /// What switches hash, but for the structureless hash, which goes by port ids; it must outlive the routing.
  const AddressBook* addresses = nullptr;
  /// Devices that choose anew for every packet, whatever it is of.
  std::vector<NodeId> spraying = {};
};

/// Which of the packets with its addresses and label a packet is.
struct OnePacket {
  PacketFields fields = {};
  std::uint64_t number = 0;  // what devices that spray choose by
};

class EcmpRouting {
 public:
  EcmpRouting(const Fabric& fabric, const RoutingOptions& options);

  const Fabric& fabric() const { return *fabric_; }

  /// Puts the channels that a packet of this flow crosses into `path` (what it held is lost). True when it
  /// arrives; false when a device on its way, or its own host, has no live channel on: `path` then ends
  /// there. Preconditions: src and dst are NICs.
  bool path_of(PortId src, PortId dst, PathLabel label, std::vector<ChannelId>& path,
               const OnePacket& packet = {}) const;

  /// The same for a packet that a switch itself sends, as an ICMP answer; the label is what its headers
  /// amount to.
  bool path_from(NodeId device, PortId dst, PathLabel label, std::vector<ChannelId>& path) const;

  /// The equal next hops of a switch towards a NIC, in the order of its ports; empty: it has no way on.
  std::vector<ChannelId> next_hops(NodeId device, PortId dst) const;

  /// How many equal paths lead from src to dst. In double: it may exceed any integer in a deep fabric.
  double path_count(PortId src, PortId dst) const;

 private:
  /// For every switch a bit per edge: set where the edge is a next hop towards one switch.
  using Column = std::unique_ptr<std::uint64_t[]>;

  void make_hashes(const RoutingOptions& options);
  const std::uint64_t* column(SwitchIndex towards) const;
  Column compute(SwitchIndex towards) const;
  std::span<const std::uint64_t> hops(const std::uint64_t* column, SwitchIndex at) const;
  /// What is told apart of a packet on its way.
  struct Hashed {
    FlowKey key;
    FlowBits bits;
    std::uint64_t number = 0;
  };
  Hashed hashed(PortId src, PortId dst, PathLabel label, const OnePacket& packet) const;
  std::uint32_t choice(SwitchIndex at, std::optional<ChannelId> in, const Hashed& packet,
                       std::uint32_t count) const;
  /// From `at` to the destination's switch and down to the NIC.
  bool walk(SwitchIndex at, PortId dst, const Hashed& packet, std::vector<ChannelId>& path) const;
  bool is_live(ChannelId channel) const { return !dead_[Fabric::link_of(channel).value()]; }

  const Fabric* fabric_;
  SwitchGraph graph_;
  Convergence convergence_;
  HashOptions options_;
  std::vector<bool> dead_;            // by link
  std::vector<bool> sprays_;          // by switch
  std::vector<std::uint64_t> seeds_;  // by switch
  const AddressBook* addresses_;
  std::vector<std::optional<SwitchHash>> hashes_;  // by switch; absent: structureless
  std::vector<std::uint32_t> words_before_;        // by switch: where its bits begin in a column
  mutable std::mutex computing_;
  mutable std::vector<Column> owned_;                                     // by switch; guarded by computing_
  mutable std::unique_ptr<std::atomic<const std::uint64_t*>[]> columns_;  // by switch; null: not yet computed
};

}  // namespace weft::routing
