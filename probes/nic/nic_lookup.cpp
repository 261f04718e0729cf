#include "probes/nic/nic_lookup.hpp"

#include <ifaddrs.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>

#include "probes/nic/packet_filter.hpp"
#include "probes/packet/udp.hpp"
#include "topology/os/socket_address.hpp"

namespace weft::nic {
namespace {

constexpr int kCarrierLooks = 100;  // two seconds in all
constexpr auto kCarrierLook = std::chrono::milliseconds(20);

/// One question about an interface by ioctl.
Result<ifreq> ask(const os::FileDescriptor& socket, const std::string& interface, unsigned long question) {
  ifreq request{};
  if (interface.empty() || interface.size() >= sizeof request.ifr_name)
    return fail(ErrorKind::usage, "'{}' is no interface name: expected 1 to {} characters", interface,
                sizeof request.ifr_name - 1);
  std::memcpy(request.ifr_name, interface.data(), interface.size());
  if (::ioctl(socket.get(), question, &request) == 0) return request;
  if (errno == ENODEV)
    return fail(ErrorKind::absent, "no interface {} on this host: 'ip link' lists those there are",
                interface);
  return fail(ErrorKind::absent, "cannot ask the kernel about {}: {}", interface, std::strerror(errno));
}

/// The interface's flags, once it has a carrier or the wait for one is over: the kernel says so a little
/// later than its cable is there.
Result<unsigned> settled_flags(const os::FileDescriptor& socket, const std::string& interface) {
  for (int look = 0;; ++look) {
    WEFT_TRY(const auto answer, ask(socket, interface, SIOCGIFFLAGS));
    const auto flags = static_cast<unsigned>(static_cast<unsigned short>(answer.ifr_flags));
    if ((flags & IFF_UP) == 0 || (flags & IFF_RUNNING) != 0 || look == kCarrierLooks) return flags;
    std::this_thread::sleep_for(kCarrierLook);
  }
}

Result<void> check_state(const os::FileDescriptor& socket, const std::string& interface) {
  WEFT_TRY(const auto flags, settled_flags(socket, interface));
  if ((flags & IFF_UP) == 0)
    return fail(ErrorKind::absent, "{} is down: 'ip link set {} up'", interface, interface);
  if ((flags & IFF_RUNNING) == 0)
    return fail(ErrorKind::absent, "{} has no carrier: its cable or its far end is down", interface);
  return {};
}

/// `shares`: another one that shares may own the port as well, also of another user: a service has a user of
/// its own (SO_REUSEADDR of a UDP socket, socket(7); SO_REUSEPORT asks for the same user).
Result<os::FileDescriptor> open_port_socket(const HostNic& nic, bool shares) {
  const int family = nic.address.is_v6() ? AF_INET6 : AF_INET;
  os::FileDescriptor socket(::socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return fail(ErrorKind::internal, "cannot open a socket: {}", std::strerror(errno));
  auto program = drop_all_filter();
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter);
  const int on = 1;
  if (shares) ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  return socket;
}

}  // namespace

Result<KernelNic> look_up_nic(const HostNic& nic) {
  const os::FileDescriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return fail(ErrorKind::internal, "cannot open a socket: {}", std::strerror(errno));
  WEFT_TRY(const auto index, ask(socket, nic.interface, SIOCGIFINDEX));
  if (auto up = check_state(socket, nic.interface); !up) return pass_on(up);
  WEFT_TRY(const auto mtu, ask(socket, nic.interface, SIOCGIFMTU));
  WEFT_TRY(const auto hardware, ask(socket, nic.interface, SIOCGIFHWADDR));
  if (hardware.ifr_hwaddr.sa_family != ARPHRD_ETHER)
    return fail(ErrorKind::not_supported, "{} is no Ethernet interface: packets of our own need one",
                nic.interface);
  KernelNic found{.index = index.ifr_ifindex,
                  .local = {.address = nic.address,
                            .mtu = static_cast<std::size_t>(mtu.ifr_mtu),
                            .traffic_class = nic.traffic_class}};
  std::memcpy(found.local.mac.bytes.data(), hardware.ifr_hwaddr.sa_data, 6);
  return found;
}

Result<std::string> interface_with(const IpAddress& address) {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0)
    return fail(ErrorKind::internal, "cannot list this host's addresses: {}", std::strerror(errno));
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> all(list, ::freeifaddrs);
  for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next)
    if (each->ifa_addr != nullptr && os::address_in(*each->ifa_addr) == address)
      return std::string(each->ifa_name);
  return fail(ErrorKind::absent,
              "no interface of this host has the address {}: 'ip address' lists those there are",
              to_string(address));
}

Result<os::FileDescriptor> open_packet_socket() {
  os::FileDescriptor socket(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket && (errno == EPERM || errno == EACCES))
    return fail(ErrorKind::permission,
                "no raw sockets for this user: they need CAP_NET_RAW (root, or an ordinary user's lab); "
                "'weft simulate' works without");
  if (!socket) return fail(ErrorKind::not_supported, "no packet sockets here: {}", std::strerror(errno));
  return socket;
}

Result<os::FileDescriptor> own_roce_port(const HostNic& nic, PortOwner owner) {
  WEFT_TRY(auto socket, open_port_socket(nic, owner == PortOwner::standing));
  const auto address = os::socket_address(nic.address, packet::kRocePort);
  if (::bind(socket.get(), address.get(), address.size) == 0) return socket;
  if (errno == EADDRINUSE && owner == PortOwner::run) {
    WEFT_TRY(auto beside, open_port_socket(nic, true));
    if (::bind(beside.get(), address.get(), address.size) == 0) return beside;
  }
  if (errno == EADDRINUSE)
    return fail(ErrorKind::conflict,
                "UDP port 4791 on {} is in use: end the other weft agent (or soft-RoCE) there",
                to_string(nic.address));
  if (errno == EADDRNOTAVAIL)
    return fail(ErrorKind::absent, "{} is no address of this host: give the address of {}",
                to_string(nic.address), nic.interface);
  return fail(ErrorKind::absent, "cannot take UDP port 4791 on {}: {}", to_string(nic.address),
              std::strerror(errno));
}

}  // namespace weft::nic
