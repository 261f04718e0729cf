// SimWorld: the simulated fabric as it is, with its faults: what all of the simulator's NICs share and none
// changes. Const, so threads share it freely. The Fabric and the AddressBook must outlive it.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "probes/engine/sim/channel_states.hpp"
#include "topology/findings/observation.hpp"
#include "topology/model/addressing.hpp"

namespace weft::sim {

/// One packet, and when it goes.
struct SentPacket {
  routing::OnePacket packet = {};
  Nanoseconds at{};
};

class SimWorld {
 public:
  SimWorld(const Fabric& fabric, const AddressBook& addresses, const SimOptions& options);

  const Fabric& fabric() const { return *fabric_; }
  const SimOptions& options() const { return options_; }
  const routing::EcmpRouting& routing(Nanoseconds at = {}) const {
    return later_ && at >= *options_.routes_change ? *later_ : routing_;
  }
  const ChannelStates& channels() const { return channels_; }

  /// As EcmpRouting::path_of, by tables where there are any.
  bool path_of(PortId src, PortId dst, PathLabel label, std::vector<ChannelId>& path,
               const SentPacket& sent = {}) const;

  /// Absent: nobody has this address.
  std::optional<PortId> nic_at(const IpAddress& address) const;
  /// The address of the port that a channel arrives at, else its switch's own; kAnonymous of a switch that
  /// shows none. Absent: there is none, or its switch does not answer.
  std::optional<IpAddress> answering_address(ChannelId into) const;
  /// False when the NIC's own cable is down: it sends nothing.
  bool can_send(PortId nic) const;

  /// How long a packet of this size takes over a path when it waits for nothing but `load`, from host to
  /// host; faults that vary are left out.
  Nanoseconds latency(std::span<const ChannelId> path, Bytes size) const;
  static Nanoseconds latency(std::span<const ChannelState> path, Bytes size);
  /// The stall that a NIC's host is in; null: it runs.
  const HostStall* stall_at(PortId nic, Nanoseconds at) const;
  /// When that changes next after `at`, or the sockets of the stalled host are full, which hold what comes in
  /// `holds`; `until` at the latest.
  Nanoseconds stall_change_after(PortId nic, Nanoseconds at, Nanoseconds holds, Nanoseconds until) const;
  bool stalls(PortId nic) const;
  /// How long a host's socket holds probes of this size while nobody reads them, at so many a second.
  static Nanoseconds holds(Bytes size, double packets_per_second);
  /// How much of a time, from `start` on, a NIC's host sends no flows; and how much of it it drops those that
  /// come.
  struct Idle {
    Nanoseconds sending{};
    Nanoseconds receiving{};
  };
  Idle idle(PortId nic, Nanoseconds start, Nanoseconds length) const;

  /// The mean of what packets wait beyond that, in queues that come and go.
  static Nanoseconds jitter(std::size_t channels);

 private:
  const Fabric* fabric_;
  const AddressBook* addresses_;
  SimOptions options_;
  ChannelStates channels_;
  routing::EcmpRouting routing_;
  std::optional<routing::EcmpRouting> later_;  // once routes have changed
  std::vector<bool> silent_;                   // by node
  std::vector<bool> anonymous_;                // by node
  std::vector<bool> dead_;                     // by link
};

/// One sender and spec of a batch, as its receiver counted it.
struct SimReceipt {
  PortId from;
  PortId to;
  std::uint32_t spec = 0;
  std::uint64_t packets = 0;
  std::uint64_t corrupt = 0;
  Bytes size;
  Nanoseconds start{};  // of the first packet, on the simulator's clock
  Nanoseconds span{};   // from the first packet to the last
  std::optional<std::vector<LossRun>> missing = std::nullopt;  // up to the last that came; absent: not known
  std::uint64_t dropped = 0;                                   // by the receiver's host
  std::uint64_t late = 0;                                      // as ReceivedTally::late
};

}  // namespace weft::sim
