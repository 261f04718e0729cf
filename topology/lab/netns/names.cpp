#include "topology/lab/netns/names.hpp"

#include <algorithm>
#include <cctype>

namespace weft::lab {

Result<void> check_lab_name(std::string_view name) {
  const auto allowed = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
  };
  if (!name.empty() && name.size() <= 32 && name.front() != '-' && std::ranges::all_of(name, allowed))
    return {};
  return fail(
      ErrorKind::usage,
      "'{}' is no name for a lab: expected 1 to 32 letters, digits, '-' and '_', not starting with '-'",
      name);
}

std::string namespace_name(std::string_view lab, std::string_view node) {
  return fmt::format("weft-{}-{}", lab, node);
}

// No node name holds a '~', so this is no node's namespace.
std::string management_namespace_name(std::string_view lab) { return fmt::format("weft-{}-mgmt~", lab); }

std::string interface_name(PortNumber number) { return fmt::format("p{}", number.value()); }

namespace {

std::string mac_with(std::uint8_t kind, std::uint32_t id) {
  return fmt::format("02:{:02x}:{:02x}:{:02x}:{:02x}:{:02x}", kind, id >> 24U, id >> 16U & 0xFFU,
                     id >> 8U & 0xFFU, id & 0xFFU);
}

}  // namespace

std::string mac_of(PortId port) { return mac_with(0x77, port.value()); }
std::string bridged_mac_of(PortId port) { return mac_with(0x7a, port.value()); }
std::string management_mac_of(std::size_t host) { return mac_with(0x78, static_cast<std::uint32_t>(host)); }

std::string guest_tap_name(std::string_view interface) { return fmt::format("tap-{}", interface); }
std::string guest_bridge_name(std::string_view interface) { return fmt::format("br-{}", interface); }

IpAddress coordinator_management_address() { return IpAddress(IpAddress::V4{172, 31, 0, 1}); }

IpAddress host_management_address(std::size_t host) {
  const std::size_t low = host + 2;
  return IpAddress(
      IpAddress::V4{172, 31, static_cast<std::uint8_t>(low >> 8U), static_cast<std::uint8_t>(low)});
}

}  // namespace weft::lab
