// SimWorld: the simulated fabric as it is, with its faults: what all of the simulator's NICs share and none
// changes. Const, so threads share it freely. The Fabric and the AddressBook must outlive it.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "probes/engine/sim/channel_states.hpp"
#include "topology/model/addressing.hpp"

namespace weft {

class SimWorld {
 public:
  SimWorld(const Fabric& fabric, const AddressBook& addresses, const SimOptions& options);

  const Fabric& fabric() const { return *fabric_; }
  const SimOptions& options() const { return options_; }
  const EcmpRouting& routing() const { return routing_; }
  const ChannelStates& channels() const { return channels_; }

  /// As EcmpRouting::path_of, by tables where there are any.
  bool path_of(PortId src, PortId dst, PathLabel label, std::vector<ChannelId>& path) const;

  /// Absent: nobody has this address.
  std::optional<PortId> nic_at(const IpAddress& address) const;
  /// The address of the port that a channel arrives at; absent: it has none, or its switch does not answer.
  std::optional<IpAddress> answering_address(ChannelId into) const;
  /// False when the NIC's own cable is down: it sends nothing.
  bool can_send(PortId nic) const;

  /// How long a packet of this size takes over a path when it waits for nothing but `load`, from host to
  /// host.
  Nanoseconds latency(std::span<const ChannelId> path, Bytes size) const;
  /// The mean of what packets wait beyond that, in queues that come and go.
  static Nanoseconds jitter(std::size_t channels);

 private:
  const Fabric* fabric_;
  const AddressBook* addresses_;
  SimOptions options_;
  ChannelStates channels_;
  EcmpRouting routing_;
  std::vector<bool> silent_;  // by node
  std::vector<bool> dead_;    // by link
};

/// One sender and spec of a batch, as its receiver counted it.
struct SimReceipt {
  PortId from;
  PortId to;
  std::uint32_t spec = 0;
  std::uint64_t packets = 0;
  std::uint64_t corrupt = 0;
  Bytes size;
  Nanoseconds span{};  // from the first packet to the last
};

}  // namespace weft
