#include "probes/engine/dpdk/vdev_sockets.hpp"

#include <linux/if_packet.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "probes/nic/packet_filter.hpp"
#include "topology/base/whole_number.hpp"

namespace weft::dpdk {
namespace {

constexpr int kSendBuffer = 4 << 20;  // as the raw engine's: the queue decides, not the socket
constexpr int kFlushes = 8;

template <class Value>
bool option(int fd, int level, int name, Value& value) {
  socklen_t size = sizeof value;
  return ::getsockopt(fd, level, name, &value, &size) == 0;
}

bool has_ring(int fd) {
  int domain = 0, version = 0;
  return option(fd, SOL_SOCKET, SO_DOMAIN, domain) && domain == AF_PACKET &&
         option(fd, SOL_PACKET, PACKET_VERSION, version) && version == TPACKET_V2;
}

bool is_bound_to(int fd, int interface) {
  sockaddr_ll address{};
  socklen_t size = sizeof address;
  return ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0 &&
         address.sll_ifindex == interface;
}

}  // namespace

std::set<int> ring_sockets() {
  std::set<int> found;
  std::error_code error;
  for (std::filesystem::directory_iterator at("/proc/self/fd", error), end; !error && at != end;
       at.increment(error)) {
    const auto fd = parse_whole_number<unsigned>(at->path().filename().native());
    if (fd && has_ring(static_cast<int>(*fd))) found.insert(static_cast<int>(*fd));
  }
  return found;
}

Result<VdevSockets> VdevSockets::adopt(const std::set<int>& before, const nic::HostNic& nic,
                                       const nic::KernelNic& kernel) {
  auto program = nic::engine_filter(nic.address.is_v6());
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  const int on = 1;
  std::vector<int> ours;
  for (const int fd : ring_sockets()) {
    if (before.contains(fd) || !is_bound_to(fd, kernel.index)) continue;
    ours.push_back(fd);
    if (::setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter) != 0)
      return fail(ErrorKind::internal, "the kernel refuses the packet filter: {}", std::strerror(errno));
    ::setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof on);
    if (::setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &kSendBuffer, sizeof kSendBuffer) != 0)
      ::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &kSendBuffer, sizeof kSendBuffer);
  }
  if (ours.empty())
    return fail(ErrorKind::internal,
                "the socket of DPDK's device on {} is not to be found: its drops would be "
                "taken for loss",
                nic.interface);
  return VdevSockets(std::move(ours), nic.interface);
}

std::uint64_t VdevSockets::take_drops() const {
  std::uint64_t drops = 0;
  for (const int fd : descriptors_) {
    tpacket_stats stats{};
    if (option(fd, SOL_PACKET, PACKET_STATISTICS, stats)) drops += stats.tp_drops;
  }
  return drops;
}

Result<bool> VdevSockets::flush() const {
  bool all = true;
  for (const int fd : descriptors_) {
    // An empty send makes the kernel go on with the ring; it answers what it took, 0 where nothing was left.
    ssize_t taken = 1;
    for (int look = 0; look < kFlushes && taken > 0; ++look)
      taken = ::sendto(fd, nullptr, 0, MSG_DONTWAIT, nullptr, 0);
    const bool full = taken < 0 && (errno == EAGAIN || errno == ENOBUFS || errno == EINTR);
    if (taken < 0 && !full)
      return fail(ErrorKind::absent, "cannot send on {}: {}", interface_, std::strerror(errno));
    all = all && taken == 0;
  }
  return all;
}

Result<void> VdevSockets::check() const {
  for (const int fd : descriptors_) {
    int error = 0;
    if (option(fd, SOL_SOCKET, SO_ERROR, error) && error != 0)
      return fail(ErrorKind::absent, "cannot receive on {}: {}", interface_, std::strerror(error));
  }
  return {};
}

}  // namespace weft::dpdk
