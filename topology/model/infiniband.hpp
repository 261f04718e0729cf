// What InfiniBand knows of a fabric beyond its graph: GUIDs, LIDs, link widths and speeds, port states. Plain
// values beside a Fabric and keyed by its ids: `nodes[n]` belongs to NodeId(n), `ports[p]` to PortId(p).
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topology/base/ids.hpp"
#include "topology/base/ip.hpp"
#include "topology/base/units.hpp"

namespace weft {

enum class LinkWidth : std::uint8_t { x1, x2, x4, x8, x12 };
enum class LinkSpeed : std::uint8_t { sdr, ddr, qdr, fdr10, fdr, edr, hdr, ndr, xdr };
/// IBTA vol. 1, PortInfo.PortState.
enum class IbPortState : std::uint8_t { down = 1, init = 2, armed = 3, active = 4 };

/// The rate people name a link by: 4xHDR is 200 Gb/s, 4xNDR 400 Gb/s.
Bandwidth link_rate(LinkWidth width, LinkSpeed speed);
/// "4x"; "HDR".
std::string_view to_string(LinkWidth width);
std::string_view to_string(LinkSpeed speed);
std::optional<LinkWidth> parse_link_width(std::string_view text);
std::optional<LinkSpeed> parse_link_speed(std::string_view text);
/// The width and speed a rate is usually made of ("400G" is 4xNDR); absent when no 4x link has that rate.
std::optional<LinkSpeed> speed_of_4x(Bandwidth rate);

/// The LIDs lid .. lid + 2^lmc - 1 of an end port.
struct LidRange {
  Lid base;
  std::uint8_t lmc = 0;
  std::uint32_t count() const { return 1U << lmc; }
  std::uint32_t end() const { return base.value() + count(); }  // one past the last
  bool contains(Lid lid) const { return lid.value() >= base.value() && lid.value() < end(); }
  friend bool operator==(const LidRange&, const LidRange&) = default;
};

/// How a NIC is called to its host: the GID of its port, with the prefix that every port answers to
/// (fe80::/64; IBTA vol. 1, 4.1.1), as an IPv6 address.
IpAddress gid_address(Guid port);
/// The port of such a GID, whatever its prefix; absent: an IPv4 address.
std::optional<Guid> port_of_gid(const IpAddress& gid);

/// "20.31.2006"; ordered as versions are.
struct FirmwareVersion {
  std::uint32_t major = 0;
  std::uint32_t minor = 0;
  std::uint32_t sub_minor = 0;
  friend auto operator<=>(const FirmwareVersion&, const FirmwareVersion&) = default;
};
std::string to_string(const FirmwareVersion& version);

struct IbNode {
  std::string description;  // as the node tells it, unedited
  Guid system_guid;
  std::uint32_t vendor = 0;
  std::uint16_t device = 0;
  std::uint32_t revision = 0;
  std::uint8_t port_count = 0;                  // switches: ports in use or not
  std::optional<LidRange> lids = std::nullopt;  // switches: of their port 0
};

struct IbPort {
  Guid node_guid;  // of the HCA or the switch; a host with several HCAs has several
  Guid port_guid;
  std::uint8_t hardware_port = 0;  // its number on that HCA or switch
  std::optional<LidRange> lids = std::nullopt;
  std::optional<LinkWidth> width = std::nullopt;
  std::optional<LinkSpeed> speed = std::nullopt;
  std::optional<IbPortState> state = std::nullopt;
};

/// An aggregation node (SHARP): a channel adapter inside a switch; no host, so no node of the Fabric.
struct AggregationNode {
  Guid guid;
  std::string description;
  std::optional<Guid> at_switch = std::nullopt;
};

struct InfinibandInventory {
  std::vector<IbNode> nodes;
  std::vector<IbPort> ports;
  std::vector<AggregationNode> aggregation_nodes;
};

}  // namespace weft
