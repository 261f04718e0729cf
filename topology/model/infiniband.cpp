#include "topology/model/infiniband.hpp"

#include <fmt/format.h>

#include <cmath>

namespace weft {
namespace {

struct SpeedName {
  LinkSpeed speed;
  std::string_view name;
  double lane_gbit;  // as the rate of a link is named, rounded: 4 lanes of NDR are "400 Gb/s"
};

// IBTA vol. 1, table of link speeds; the names are those ibnetdiscover prints.
constexpr std::array kSpeeds{SpeedName{LinkSpeed::sdr, "SDR", 2.5}, SpeedName{LinkSpeed::ddr, "DDR", 5},
                             SpeedName{LinkSpeed::qdr, "QDR", 10},  SpeedName{LinkSpeed::fdr10, "FDR10", 10},
                             SpeedName{LinkSpeed::fdr, "FDR", 14},  SpeedName{LinkSpeed::edr, "EDR", 25},
                             SpeedName{LinkSpeed::hdr, "HDR", 50},  SpeedName{LinkSpeed::ndr, "NDR", 100},
                             SpeedName{LinkSpeed::xdr, "XDR", 200}};

struct WidthName {
  LinkWidth width;
  std::string_view name;
  int lanes;
};
constexpr std::array kWidths{WidthName{LinkWidth::x1, "1x", 1}, WidthName{LinkWidth::x2, "2x", 2},
                             WidthName{LinkWidth::x4, "4x", 4}, WidthName{LinkWidth::x8, "8x", 8},
                             WidthName{LinkWidth::x12, "12x", 12}};

}  // namespace

Bandwidth link_rate(LinkWidth width, LinkSpeed speed) {
  return Bandwidth::gbit(kSpeeds[static_cast<std::size_t>(speed)].lane_gbit *
                         kWidths[static_cast<std::size_t>(width)].lanes);
}

IpAddress gid_address(Guid port) {
  IpAddress::V6 gid{0xFE, 0x80};
  for (std::size_t i = 0; i < 8; ++i) gid[15 - i] = static_cast<std::uint8_t>(port.value() >> (8 * i));
  return IpAddress(gid);
}

std::optional<Guid> port_of_gid(const IpAddress& gid) {
  if (!gid.is_v6()) return std::nullopt;
  std::uint64_t guid = 0;
  for (std::size_t i = 8; i < 16; ++i) guid = guid << 8U | gid.bytes()[i];
  return Guid(guid);
}

std::string to_string(const FirmwareVersion& version) {
  return fmt::format("{}.{}.{}", version.major, version.minor, version.sub_minor);
}

std::string_view to_string(LinkWidth width) { return kWidths[static_cast<std::size_t>(width)].name; }
std::string_view to_string(LinkSpeed speed) { return kSpeeds[static_cast<std::size_t>(speed)].name; }

std::optional<LinkWidth> parse_link_width(std::string_view text) {
  for (const auto& entry : kWidths)
    if (entry.name == text) return entry.width;
  return std::nullopt;
}

std::optional<LinkSpeed> parse_link_speed(std::string_view text) {
  for (const auto& entry : kSpeeds)
    if (entry.name == text) return entry.speed;
  return std::nullopt;
}

std::optional<LinkSpeed> speed_of_4x(Bandwidth rate) {
  for (const auto& entry : kSpeeds)
    if (std::abs(link_rate(LinkWidth::x4, entry.speed) / rate - 1.0) < 0.01) return entry.speed;
  return std::nullopt;
}

}  // namespace weft
