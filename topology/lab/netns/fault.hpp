// What is wrong with one channel of a lab: the faults in force on it, gathered from the FaultSpecs given.
#pragma once

#include <chrono>
#include <optional>

#include "topology/model/fault.hpp"

namespace weft {

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

}  // namespace weft
