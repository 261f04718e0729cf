#include "probes/run/way_back.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "topology/os/socket_address.hpp"

namespace weft::run {
namespace {

constexpr std::size_t kMaxGuests = 256;          // beside the files of those that are being asked
constexpr auto kStay = std::chrono::seconds(3);  // longer than a host waits for an acknowledgement

}  // namespace

Result<WayBack> WayBack::open(const ListenAddress& where) {
  const os::SocketAddress wanted = os::socket_address(where.address, UdpPort(where.port.value_or(0)));
  os::FileDescriptor socket(
      ::socket(wanted.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int again = 1;
  if (socket) setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &again, sizeof again);
  os::SocketAddress bound = wanted;
  if (!socket || bind(socket.get(), wanted.get(), wanted.size) != 0 || listen(socket.get(), SOMAXCONN) != 0 ||
      getsockname(socket.get(), reinterpret_cast<sockaddr*>(&bound.storage), &bound.size) != 0)
    return fail(errno == EADDRINUSE ? ErrorKind::conflict : ErrorKind::absent,
                "cannot wait for connections at {}{}: {}", to_string(where.address),
                where.port ? fmt::format(" port {}", *where.port) : "", std::strerror(errno));
  // sin_port and sin6_port stand at the same place.
  const auto port = ntohs(reinterpret_cast<const sockaddr_in*>(&bound.storage)->sin_port);
  return WayBack(std::move(socket), where.address, port);
}

void WayBack::greet() {
  const auto now = std::chrono::steady_clock::now();
  while (!guests_.empty() && (guests_.size() > kMaxGuests || now - guests_.front().since > kStay))
    guests_.pop_front();
  while (true) {
    os::FileDescriptor guest(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!guest) return;
    shutdown(guest.get(), SHUT_WR);
    guests_.push_back({std::move(guest), now});
  }
}

}  // namespace weft::run
