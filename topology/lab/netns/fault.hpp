// What is wrong with one channel of a lab: the faults in force on it, gathered from the FaultSpecs given, and
// the processes that keep such a fault alive: a sender of other traffic, a holder of packets that are late.
// Each runs in the namespace where it was started, until it is killed, its namespace's interface goes, or,
// for a load, until kMaxLoad is over.
#pragma once

#include <chrono>
#include <optional>

#include "topology/model/fault.hpp"
#include "topology/os/processes.hpp"

namespace weft::lab {

/// A load's sender ends by itself after this time, so that a forgotten one does not burn a core for ever.
inline constexpr std::chrono::hours kMaxLoad{12};

/// Absent parts are not wrong. The words are those of FaultSpec.
struct ChannelFault {
  std::optional<Fraction> loss = std::nullopt;
  std::optional<Bandwidth> rate = std::nullopt;
  std::optional<Bandwidth> load = std::nullopt;
  std::optional<Nanoseconds> delay = std::nullopt;
  std::optional<Bytes> mtu = std::nullopt;
  std::optional<Fraction> corruption = std::nullopt;
  friend bool operator==(const ChannelFault&, const ChannelFault&) = default;

  bool nothing() const { return *this == ChannelFault{}; }
  /// True where packets are judged one by one, by the kernel's packet filter.
  bool filters() const { return loss || mtu || corruption; }
};

/// `before` with what `spec` sets put in its place.
ChannelFault merged(const ChannelFault& before, const FaultSpec& spec);

/// The parts of `fault` as a FaultSpec of that channel.
FaultSpec as_spec(const ChannelFault& fault, ChannelId channel);

struct LoadWork {
  std::string interface;  // it leaves by this one and crosses no other
  std::string to_mac;     // the far end, which discards it
  Bandwidth rate;         // of Ethernet frames
  Bytes size;             // of one frame without its header
};
/// Started in the calling thread's network namespace.
Result<os::ProcessMark> start_load(const LoadWork& work);

struct DelayWork {
  std::uint16_t queue;
  Nanoseconds delay;
  bool v6 = false;
};
/// Started in the calling thread's network namespace; it holds the queue when this returns. Error
/// not_supported: built without libnetfilter-queue.
Result<os::ProcessMark> start_delay(const DelayWork& work);

}  // namespace weft::lab
