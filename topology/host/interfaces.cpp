#include "topology/host/interfaces.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <new>

#include "topology/base/ip.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/host/sysfs_values.hpp"
#include "topology/os/file_descriptor.hpp"

namespace weft::host {
namespace {

bool ask(const os::FileDescriptor& socket, const std::string& name, unsigned long question, ifreq& request) {
  if (name.empty() || name.size() >= sizeof request.ifr_name) return false;
  std::memcpy(request.ifr_name, name.c_str(), name.size() + 1);
  return ::ioctl(socket.get(), question, &request) == 0;
}

std::optional<std::string> text_of(const char* bytes, std::size_t most) {
  const std::string text(bytes, strnlen(bytes, most));
  if (text.empty() || text == "N/A" || text == "n/a") return std::nullopt;
  return text;
}

/// The kernel notices a carrier up to a second late; an interface that is up and shows none has told nothing
/// yet. (Whoever opens it waits for the carrier, and says so when there is none.)
std::optional<bool> carrier_of(unsigned flags) {
  if ((flags & IFF_UP) == 0) return false;
  return (flags & IFF_RUNNING) != 0 ? std::optional(true) : std::nullopt;
}

/// The kernel first says how many words its masks of link modes have, then all of it (linux/ethtool.h,
/// ETHTOOL_GLINKSETTINGS).
std::optional<Bandwidth> speed_of(const os::FileDescriptor& socket, const std::string& name) {
  constexpr std::size_t kMaxMasks = std::size_t{3} * 127 * sizeof(__u32);
  alignas(ethtool_link_settings) std::array<std::byte, sizeof(ethtool_link_settings) + kMaxMasks> bytes{};
  auto* settings = new (bytes.data()) ethtool_link_settings;
  ifreq request{};
  request.ifr_data = reinterpret_cast<char*>(bytes.data());
  settings->cmd = ETHTOOL_GLINKSETTINGS;
  settings->link_mode_masks_nwords = 0;
  if (!ask(socket, name, SIOCETHTOOL, request) || settings->link_mode_masks_nwords >= 0) return std::nullopt;
  settings->cmd = ETHTOOL_GLINKSETTINGS;
  settings->link_mode_masks_nwords = static_cast<__s8>(-settings->link_mode_masks_nwords);
  const auto unknown = static_cast<__u32>(SPEED_UNKNOWN);
  if (!ask(socket, name, SIOCETHTOOL, request) || settings->speed == unknown || settings->speed == 0)
    return std::nullopt;
  return Bandwidth::mbit(settings->speed);
}

NetworkInterface ask_kernel(const os::FileDescriptor& socket, const std::string& name) {
  NetworkInterface found{.name = outside_text(name)};
  ifreq request{};
  if (ask(socket, name, SIOCGIFMTU, request)) found.mtu = Bytes(request.ifr_mtu);
  if (ask(socket, name, SIOCGIFFLAGS, request))
    found.up = carrier_of(static_cast<unsigned>(static_cast<unsigned short>(request.ifr_flags)));
  found.speed = speed_of(socket, name);
  ethtool_drvinfo driver{};
  driver.cmd = ETHTOOL_GDRVINFO;
  request.ifr_data = reinterpret_cast<char*>(&driver);
  if (!ask(socket, name, SIOCETHTOOL, request)) return found;
  found.driver = text_of(driver.driver, sizeof driver.driver);
  found.firmware = text_of(driver.fw_version, sizeof driver.fw_version);
  // Of a PCI device the bus information is its address; a virtual interface has none.
  const auto bus = text_of(driver.bus_info, sizeof driver.bus_info);
  if (bus && std::ranges::count(*bus, ':') == 2) found.pci = bus;
  return found;
}

std::optional<std::string> text_of(const sockaddr* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* bytes = nullptr;
  if (address->sa_family == AF_INET) bytes = &reinterpret_cast<const sockaddr_in*>(address)->sin_addr;
  if (address->sa_family == AF_INET6) bytes = &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
  if (bytes == nullptr || inet_ntop(address->sa_family, bytes, text.data(), text.size()) == nullptr)
    return std::nullopt;
  const auto parsed = IpAddress::parse(text.data());
  return parsed ? std::optional(to_string(*parsed)) : std::nullopt;
}

void add_addresses(std::vector<NetworkInterface>& interfaces) {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return;
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    const auto owner = std::ranges::find(interfaces, outside_text(one->ifa_name), &NetworkInterface::name);
    if (owner == interfaces.end() || one->ifa_addr == nullptr) continue;
    if (auto text = text_of(one->ifa_addr)) owner->addresses.push_back(std::move(*text));
  }
  freeifaddrs(all);
}

}  // namespace

std::vector<NetworkInterface> interfaces_of_kernel() {
  std::vector<NetworkInterface> found;
  const os::FileDescriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  struct if_nameindex* all = if_nameindex();
  for (const struct if_nameindex* one = all; one != nullptr && one->if_index != 0; ++one)
    found.push_back(ask_kernel(socket, one->if_name));
  if (all != nullptr) if_freenameindex(all);
  std::ranges::sort(found, {}, &NetworkInterface::name);
  add_addresses(found);
  return found;
}

std::optional<NetworkInterface> interface_of_kernel(const std::string& name) {
  if (if_nametoindex(name.c_str()) == 0) return std::nullopt;
  const os::FileDescriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  return ask_kernel(socket, name);
}

std::vector<NetworkInterface> interfaces_of_sysfs(const std::filesystem::path& sys) {
  std::vector<NetworkInterface> found;
  for (const std::string& name : sysfs_names(sys / "class/net")) {
    const auto folder = sys / "class/net" / name;
    NetworkInterface one{.name = outside_text(name)};
    if (const auto mtu = sysfs_number(folder / "mtu"); mtu && *mtu <= 1'000'000'000)
      one.mtu = Bytes(static_cast<std::int64_t>(*mtu));
    if (const auto state = sysfs_line(folder / "operstate")) one.up = *state == "up";
    one.pci = sysfs_target(folder / "device");
    one.driver = sysfs_target(folder / "device/driver");
    found.push_back(std::move(one));
  }
  return found;
}

}  // namespace weft::host
