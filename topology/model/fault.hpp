// What is broken on purpose, in the words of `weft lab fault` and `weft simulate --fault`, `--stall`.
// FaultSpec: a fault to put on one link; the lab makes it with the kernel, the simulator by arithmetic, and
// both read it here, so that it means the same. HostStall: a host that is not scheduled for a while.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "topology/base/ids.hpp"
#include "topology/base/result.hpp"
#include "topology/base/units.hpp"

namespace weft {

class Fabric;

/// At least one of loss ... down is set. Several at once add up.
struct FaultSpec {
  LinkId link;
  /// Only this channel of the link; absent: both directions.
  std::optional<ChannelId> channel = std::nullopt;
  std::optional<Fraction> loss = std::nullopt;        // share of packets dropped at random
  std::optional<Bandwidth> rate = std::nullopt;       // the channel carries no more than this
  std::optional<Bandwidth> load = std::nullopt;       // other traffic of this rate is sent over the channel
  std::optional<Nanoseconds> delay = std::nullopt;    // added to every packet, one way
  std::optional<Bytes> mtu = std::nullopt;            // larger IP packets vanish without an ICMP answer
  std::optional<Fraction> corruption = std::nullopt;  // share of packets whose payload is changed
  bool down = false;                                  // nothing passes
  /// Both or neither: all of the above holds for `on`, then not for `off`, and so on. Nobody routes around a
  /// link that is down and comes back.
  std::optional<Nanoseconds> on = std::nullopt;
  std::optional<Nanoseconds> off = std::nullopt;
  /// `loss` takes so many consecutive packets of one flow at a time; the share lost stays.
  std::optional<std::uint32_t> burst = std::nullopt;

  bool comes_and_goes() const { return on.has_value(); }
  friend bool operator==(const FaultSpec&, const FaultSpec&) = default;
};

/// The size from which every IP path must carry a packet (RFC 791, section 3.1); an mtu fault below it is
/// refused.
inline constexpr Bytes kMinMtu = Bytes(68);

/// 'LINK:loss=0.5%,from=NODE': a link's name, a colon, then settings parted by commas, each once: loss=PCT,
/// rate=BW, load=BW, delay=TIME, mtu=BYTES, corruption=PCT, down, on=TIME, off=TIME, burst=PACKETS,
/// from=NODE.
Result<FaultSpec> parse_fault(const Fabric& fabric, std::string_view text);

/// Puts one setting (all of the above but `from`) into `fault`; `down` takes no value.
Result<void> set_fault(FaultSpec& fault, std::string_view setting, std::string_view value);

/// The longest run of lost packets that `burst` takes.
inline constexpr std::uint32_t kMaxBurst = 10'000;

/// Limits `fault` to the channel of its link that leaves the node of that name.
Result<void> set_fault_from(const Fabric& fabric, FaultSpec& fault, std::string_view node);

/// An error when `fault` changes nothing, or when one setting needs another that is not there.
Result<void> check_fault(const Fabric& fabric, const FaultSpec& fault);

/// The channels that it changes.
std::vector<ChannelId> channels_of(const FaultSpec& fault);

/// The text that parse_fault reads back.
std::string to_string(const Fabric& fabric, const FaultSpec& fault);

/// A host that is not scheduled for a while, from `start` on the simulator's clock: it reads nothing and
/// sends no flows. What arrives beyond the first moments' worth is dropped, and counted as dropped by the
/// host.
struct HostStall {
  NodeId host;
  Nanoseconds start{};
  Nanoseconds length{};
  friend bool operator==(const HostStall&, const HostStall&) = default;
};

/// 'HOST:at=TIME,for=TIME', as in host3:at=2s,for=300ms.
Result<HostStall> parse_stall(const Fabric& fabric, std::string_view text);

}  // namespace weft
