#include "probes/packet/roce.hpp"

namespace weft::packet {
namespace {

constexpr std::uint32_t kLowBits = 0x3FFF;  // of the port, free to choose
constexpr std::uint32_t kLabelMask = 0xFFFFF;

}  // namespace

UdpPort udp_port_of(std::uint32_t flow_label) {
  const std::uint32_t folded = (flow_label & kLowBits) ^ ((flow_label & kLabelMask) >> 14U);
  return UdpPort(static_cast<std::uint16_t>(0xC000U | folded));
}

std::uint32_t flow_label_for(UdpPort port) {
  const std::uint32_t low = port.value() & kLowBits;
  // 0 would leave the choice to the device: the alias with bit 14 set folds to the same port.
  return low != 0 ? low : (1U << 14U | 1U);
}

std::uint32_t default_flow_label(QpNum local, QpNum remote) {
  std::uint64_t value = std::uint64_t{local.value()} * remote.value();
  value ^= value >> 20U;
  value ^= value >> 40U;
  return static_cast<std::uint32_t>(value) & kLabelMask;
}

}  // namespace weft::packet
