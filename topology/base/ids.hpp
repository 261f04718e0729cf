// The identifiers of weft, and Strong, which all of them are. The dense ones (NodeId, PortId, LinkId,
// ChannelId, PathId, PathSetId) index arrays of the object that issued them and mean nothing elsewhere; the
// others are numbers from the wire.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace weft {

/// An identifier that compares and hashes and does nothing else. A value type; a default-constructed one is
/// zero, which is a valid identifier, so absence is always std::optional<Strong<...>>.
template <class Tag, class Rep = std::uint32_t>
class Strong {
 public:
  using rep = Rep;
  constexpr Strong() = default;
  constexpr explicit Strong(Rep value) : value_(value) {}
  constexpr Rep value() const { return value_; }
  friend constexpr auto operator<=>(Strong, Strong) = default;

 private:
  Rep value_{};
};

using NodeId = Strong<struct NodeIdTag>;
using PortId = Strong<struct PortIdTag>;
using LinkId = Strong<struct LinkIdTag>;
using ChannelId = Strong<struct ChannelIdTag>;  // 2 * link + direction; see Fabric
using PathId = Strong<struct PathIdTag>;
using PathSetId = Strong<struct PathSetIdTag>;

using PortNumber = Strong<struct PortNumberTag, std::uint16_t>;
using UdpPort = Strong<struct UdpPortTag, std::uint16_t>;
using QpNum = Strong<struct QpNumTag>;  // 24 bits on the wire
using Lid = Strong<struct LidTag, std::uint16_t>;
using Guid = Strong<struct GuidTag, std::uint64_t>;

using RunId = Strong<struct RunIdTag, std::uint64_t>;  // one sweep, simulate or watch cycle
using BatchId = Strong<struct BatchIdTag>;             // one batch of probes or one load round within a run
using TaskId = Strong<struct TaskIdTag>;               // one task a coordinator gives an agent

}  // namespace weft

template <class Tag, class Rep>
struct std::hash<weft::Strong<Tag, Rep>> {
  std::size_t operator()(weft::Strong<Tag, Rep> id) const noexcept { return std::hash<Rep>{}(id.value()); }
};
