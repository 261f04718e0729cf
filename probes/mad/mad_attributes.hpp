// The attributes weft reads by subnet management packets: what a node, a switch and a port say of themselves.
// Each decoder takes the attribute's data (64 bytes or more) and refuses what no node may say.
#pragma once

#include <string>

#include "probes/mad/mad.hpp"
#include "topology/model/infiniband.hpp"

namespace weft::mad {

enum class IbNodeType : std::uint8_t { channel_adapter = 1, switch_ = 2, router = 3 };

/// NodeInfo (14.2.5.3).
struct NodeInfo {
  IbNodeType type = IbNodeType::channel_adapter;
  std::uint8_t port_count = 0;
  Guid system_guid;
  Guid node_guid;
  Guid port_guid;
  std::uint16_t device = 0;
  std::uint32_t revision = 0;
  std::uint8_t local_port = 0;  // the port by which the question came in
  std::uint32_t vendor = 0;
};
Result<NodeInfo> decode_node_info(ByteSpan data);

/// NodeDescription (14.2.5.2): up to its first zero byte; control characters become spaces.
std::string decode_node_description(ByteSpan data);

/// SwitchInfo (14.2.5.4), what weft needs of it.
struct SwitchInfo {
  std::uint16_t linear_table_top = 0;  // the highest LID with an entry
};
Result<SwitchInfo> decode_switch_info(ByteSpan data);

/// PortInfo (14.2.5.6), what weft needs of it. What is reserved or unknown there is absent here.
struct PortInfo {
  std::optional<Lid> lid = std::nullopt;  // absent: 0, not yet assigned
  std::uint8_t lmc = 0;
  std::optional<Lid> sm_lid = std::nullopt;
  std::optional<IbPortState> state = std::nullopt;
  bool link_up = false;   // PortPhysicalState is LinkUp
  bool disabled = false;  // PortPhysicalState is Disabled: somebody took it out of use
  std::optional<LinkWidth> width = std::nullopt;
  std::optional<LinkSpeed> speed = std::nullopt;
};
Result<PortInfo> decode_port_info(ByteSpan data);

/// Whether a port that PortInfo says runs at QDR runs at FDR10: LinkSpeedActive of Mellanox's
/// ExtendedPortInfo (byte 15, as libibmad's fields have it).
inline constexpr std::uint32_t kMellanox = 0x0002C9;  // the vendor that answers it
Result<bool> decode_is_fdr10(ByteSpan data);

/// AdaptiveRoutingInfo, Mellanox's own; the layout is ib_ar_info_t of the OpenSM that NVIDIA publishes.
struct AdaptiveRoutingInfo {
  bool enabled = false;
  std::uint16_t service_levels = 0xFFFF;  // bit n: it applies to service level n
};
Result<AdaptiveRoutingInfo> decode_adaptive_routing(ByteSpan data);

/// GeneralInfo of Mellanox's class, what weft needs of it (the layout is that of infiniband-diags' vendstat).
struct GeneralInfo {
  std::uint16_t device = 0;  // the chip's, not the board's
  FirmwareVersion firmware;
};
Result<GeneralInfo> decode_general_info(ByteSpan data);

/// How the forward error correction of a port's counters is told (PortInfoExtended, FECModeActive).
enum class FecMode : std::uint8_t {
  by_lane,    // none, or a code for each lane (fire code)
  over_port,  // a Reed-Solomon code over all lanes
};
Result<FecMode> decode_fec_mode(ByteSpan data);

/// A LinearForwardingTable block (14.2.5.9): the ports of 64 LIDs in order; the modifier counts blocks.
inline constexpr std::size_t kLidsPerBlock = 64;

}  // namespace weft::mad
