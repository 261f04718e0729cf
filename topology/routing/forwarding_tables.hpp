// The linear forwarding tables of an InfiniBand fabric: (source NIC, destination LID) -> channels. The walk
// is two array look-ups a hop, so that millions of paths cost tenths of a second. A value; not changed by
// walks.
#pragma once

#include <array>
#include <span>

#include "topology/model/ib_subnet.hpp"

namespace weft::routing {

/// Longer than any route of a fabric of up to four tiers, also one that detours.
inline constexpr std::size_t kMaxHops = 32;

enum class RouteEnd : std::uint8_t {
  arrived,
  no_such_lid,  // no NIC or switch holds this LID
  no_entry,     // a switch has no port for it
  dead_port,    // a switch names a port without a cable
  loop,         // more than kMaxHops hops
  strayed,      // it arrives at another host
};
std::string_view to_string(RouteEnd end);

/// Whether a switch picks the port itself, by load, out of those that lead on.
enum class AdaptiveRouting : std::uint8_t {
  unknown,  // nobody can be asked, or it did not answer
  off,
  on,                    // for packets of service level 0, which jobs and probes use unless told otherwise
  other_service_levels,  // not for those
};

/// One walk; the channels stand in `channels[0..hops)`, as far as it came.
struct LidRoute {
  RouteEnd end = RouteEnd::no_entry;
  std::uint8_t hops = 0;
  std::array<ChannelId, kMaxHops> channels;
  std::span<const ChannelId> path() const { return {channels.data(), hops}; }
};

class ForwardingTables {
 public:
  explicit ForwardingTables(const InfinibandFabric& fabric);

  /// The ports of LIDs `first`..; 0xFF: none. Precondition: a switch of the fabric.
  void set(NodeId node, std::uint32_t first, std::span<const std::uint8_t> ports);
  /// The port by which a switch sends to a LID; absent: no entry.
  std::optional<std::uint8_t> port(NodeId node, Lid lid) const;

  /// The way that the tables alone give; where a switch on it is adaptive, one of several (AdaptiveRoutes).
  LidRoute walk(PortId source, Lid lid) const;

  /// Precondition: a switch of the fabric.
  void set_adaptive(NodeId node, AdaptiveRouting adaptive);
  AdaptiveRouting adaptive(std::size_t index) const { return adaptive_[index]; }

  /// Who holds a LID: a NIC; absent: a switch or nobody.
  std::optional<PortId> nic_of(Lid lid) const;
  /// The LIDs of a NIC; absent: none assigned.
  std::optional<LidRange> lids_of(PortId nic) const { return lids_of_[nic.value()]; }

  // For analyses: switches and what is behind their ports, by dense index.
  struct Behind {
    std::uint32_t channel = 0;
    std::int32_t to = kNowhere;  // a switch's index; -2 - PortId where a host is; kNowhere without a cable
  };
  static constexpr std::int32_t kNowhere = -1;
  static std::int32_t host_end(PortId nic) { return -2 - static_cast<std::int32_t>(nic.value()); }
  std::size_t switch_count() const { return switches_.size(); }
  NodeId switch_at(std::size_t index) const { return switches_[index]; }
  std::optional<std::size_t> index_of(NodeId node) const;
  std::uint8_t entry(std::size_t index, Lid lid) const {
    return lid.value() < lids_ ? table_[lid.value() * switches_.size() + index] : kNone;
  }
  Behind behind(std::size_t index, std::uint8_t port) const {
    return port < ports_ ? behind_[index * ports_ + port] : Behind{};
  }

  static constexpr std::size_t kLids = 0xC000;  // unicast LIDs end there (IBTA vol. 1, 4.1.3)
  static constexpr std::uint8_t kNone = 0xFF;

 private:
  static constexpr std::size_t kMaxPorts = 256;

  std::vector<NodeId> switches_;
  std::vector<std::int32_t> index_of_;  // by node; -1: no switch
  std::vector<AdaptiveRouting> adaptive_;
  std::size_t ports_ = 0;  // rows of behind_: the highest port number of a switch, and 0
  std::size_t lids_ = 0;   // LIDs a table keeps: up to the highest that anyone holds
  // By LID first: the entries that a path reads lie within one row of a byte a switch, not a table apart.
  std::vector<std::uint8_t> table_;               // lid * switches + switch
  std::vector<Behind> behind_;                    // switch * ports_ + port
  std::vector<Behind> from_nic_;                  // by port
  std::vector<std::int32_t> holder_;              // by lid: a NIC's PortId; -1: nobody, -2: a switch
  std::vector<std::optional<LidRange>> lids_of_;  // by port
};

}  // namespace weft::routing
