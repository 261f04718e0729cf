#include "probes/mad/mad_attributes.hpp"

#include <algorithm>

namespace weft::mad {
namespace {

constexpr std::size_t kSmpData = 64;
constexpr std::uint8_t kPhysDisabled = 3;
constexpr std::uint8_t kPhysLinkUp = 5;
constexpr std::uint16_t kFirstMulticastLid = 0xC000;

Result<void> check_size(ByteSpan data, const char* attribute) {
  if (data.size() >= kSmpData) return {};
  return fail(ErrorKind::invalid_input, "{} of {} bytes: expected {}", attribute, data.size(), kSmpData);
}

std::optional<Lid> unicast(std::uint16_t lid) {
  return lid == 0 || lid >= kFirstMulticastLid ? std::nullopt : std::optional(Lid(lid));
}

std::optional<LinkWidth> width_of(std::uint8_t active) {
  switch (active) {
    case 1:
      return LinkWidth::x1;
    case 2:
      return LinkWidth::x4;
    case 4:
      return LinkWidth::x8;
    case 8:
      return LinkWidth::x12;
    case 16:
      return LinkWidth::x2;
    default:
      return std::nullopt;
  }
}

std::optional<LinkSpeed> extended_speed(std::uint8_t active) {
  switch (active) {
    case 1:
      return LinkSpeed::fdr;
    case 2:
      return LinkSpeed::edr;
    case 4:
      return LinkSpeed::hdr;
    case 8:
      return LinkSpeed::ndr;
    default:
      return std::nullopt;
  }
}

std::optional<LinkSpeed> basic_speed(std::uint8_t active) {
  switch (active) {
    case 1:
      return LinkSpeed::sdr;
    case 2:
      return LinkSpeed::ddr;
    case 4:
      return LinkSpeed::qdr;
    default:
      return std::nullopt;
  }
}

}  // namespace

Result<NodeInfo> decode_node_info(ByteSpan data) {
  WEFT_TRY_VOID(check_size(data, "NodeInfo"));
  const std::uint8_t type = load_u8(data, 2);
  if (type < 1 || type > 3)
    return fail(ErrorKind::invalid_input, "NodeInfo names node type {}: expected 1 to 3", type);
  const NodeInfo info{.type = static_cast<IbNodeType>(type),
                      .port_count = load_u8(data, 3),
                      .system_guid = Guid(load_be64(data, 4)),
                      .node_guid = Guid(load_be64(data, 12)),
                      .port_guid = Guid(load_be64(data, 20)),
                      .device = load_be16(data, 30),
                      .revision = load_be32(data, 32),
                      .local_port = load_u8(data, 36),
                      .vendor = load_be24(data, 37)};
  if (info.node_guid == Guid(0)) return fail(ErrorKind::invalid_input, "NodeInfo with node GUID 0");
  if (info.port_count == 0 || info.port_count == 255)
    return fail(ErrorKind::invalid_input, "NodeInfo of 0x{:x} with {} ports: expected 1 to 254",
                info.node_guid.value(), info.port_count);
  if (info.local_port > info.port_count)
    return fail(ErrorKind::invalid_input, "NodeInfo of 0x{:x}: asked through port {} of {}",
                info.node_guid.value(), info.local_port, info.port_count);
  return info;
}

std::string decode_node_description(ByteSpan data) {
  std::string text;
  for (std::size_t i = 0; i < std::min(data.size(), kSmpData); ++i) {
    const auto c = static_cast<char>(load_u8(data, i));
    if (c == '\0') break;
    text += c >= ' ' && c <= '~' ? c : ' ';
  }
  const auto last = text.find_last_not_of(' ');
  text.resize(last == std::string::npos ? 0 : last + 1);
  return text;
}

Result<SwitchInfo> decode_switch_info(ByteSpan data) {
  WEFT_TRY_VOID(check_size(data, "SwitchInfo"));
  const std::uint16_t top = load_be16(data, 6);
  if (top >= kFirstMulticastLid)
    return fail(ErrorKind::invalid_input, "SwitchInfo.LinearFDBTop is {}: expected a unicast LID", top);
  return SwitchInfo{.linear_table_top = top};
}

Result<PortInfo> decode_port_info(ByteSpan data) {
  WEFT_TRY_VOID(check_size(data, "PortInfo"));
  PortInfo info{.lid = unicast(load_be16(data, 16)),
                .lmc = static_cast<std::uint8_t>(load_u8(data, 34) & 0x07),
                .sm_lid = unicast(load_be16(data, 18)),
                .link_up = load_u8(data, 33) >> 4 == kPhysLinkUp,
                .disabled = load_u8(data, 33) >> 4 == kPhysDisabled,
                .width = width_of(load_u8(data, 31))};
  const std::uint8_t state = load_u8(data, 32) & 0x0F;
  if (state >= 1 && state <= 4) info.state = static_cast<IbPortState>(state);
  // A switch tells only of its port 0 whether it knows extended speeds; without them the field is 0.
  // LinkSpeedExtActive2 (byte 56, reserved and 0 before XDR; as Linux' mlx5 driver reads it).
  constexpr std::uint8_t kXdr = 2;
  info.speed = (load_u8(data, 56) >> 4 & 0x06) == kXdr ? std::optional(LinkSpeed::xdr)
                                                       : extended_speed(load_u8(data, 62) >> 4);
  if (!info.speed) info.speed = basic_speed(load_u8(data, 35) >> 4);
  return info;
}

Result<bool> decode_is_fdr10(ByteSpan data) {
  WEFT_TRY_VOID(check_size(data, "ExtendedPortInfo"));
  return load_u8(data, 15) == 1;
}

Result<GeneralInfo> decode_general_info(ByteSpan data) {
  constexpr std::size_t kHardware = 8;  // behind eight reserved bytes
  constexpr std::size_t kFirmware = 40;
  constexpr std::size_t kSize = 88;
  if (data.size() < kSize)
    return fail(ErrorKind::invalid_input, "GeneralInfo of {} bytes: expected {}", data.size(), kSize);
  GeneralInfo info{.device = load_be16(data, kHardware + 2)};
  // The same version in three words, where a byte is too small for its parts; older firmware leaves them 0.
  info.firmware = {load_be32(data, kFirmware + 36), load_be32(data, kFirmware + 40),
                   load_be32(data, kFirmware + 44)};
  if (info.firmware == FirmwareVersion{})
    info.firmware = {load_u8(data, kFirmware + 1), load_u8(data, kFirmware + 2),
                     load_u8(data, kFirmware + 3)};
  if (info.firmware == FirmwareVersion{})
    return fail(ErrorKind::invalid_input, "GeneralInfo names firmware 0.0.0");
  return info;
}

Result<FecMode> decode_fec_mode(ByteSpan data) {
  WEFT_TRY_VOID(check_size(data, "PortInfoExtended"));
  const bool told = (load_u8(data, 3) & 0x01) != 0;  // CapabilityMask.IsFECModeSupported
  return told && load_be16(data, 4) >= 2 ? FecMode::over_port : FecMode::by_lane;
}

Result<AdaptiveRoutingInfo> decode_adaptive_routing(ByteSpan data) {
  WEFT_TRY_VOID(check_size(data, "AdaptiveRoutingInfo"));
  AdaptiveRoutingInfo info{.enabled = (load_u8(data, 3) & 0x01) != 0};
  if ((load_u8(data, 0) & 0x10) != 0) info.service_levels = load_be16(data, 8);  // enabled by service level
  return info;
}

}  // namespace weft::mad
