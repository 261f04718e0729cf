#include "topology/lab/guests/guest_stream.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "topology/base/bytes.hpp"

namespace weft::lab {
namespace {

constexpr std::size_t kHeader = 5;  // kind, length
constexpr int kConnectMilliseconds = 1000;

bool read_exactly(int fd, std::byte* into, std::size_t size) {
  for (std::size_t done = 0; done < size;) {
    const ssize_t got = read(fd, into + done, size - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    done += static_cast<std::size_t>(got);
  }
  return true;
}

tl::unexpected<Error> closed() { return fail(ErrorKind::absent, "the guest's connection has closed"); }

}  // namespace

std::string read_some(int fd) {
  std::string text(16'384, '\0');
  ssize_t got = 0;
  do got = read(fd, text.data(), text.size());
  while (got < 0 && errno == EINTR);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = write(fd, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return true;
}

Result<GuestStream> GuestStream::connect(const IpAddress& address, std::uint16_t port) {
  os::FileDescriptor fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in to{.sin_family = AF_INET, .sin_port = htons(port)};
  std::memcpy(&to.sin_addr, address.bytes().data(), sizeof to.sin_addr);
  int error = ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    pollfd waiting{fd.get(), POLLOUT, 0};
    socklen_t size = sizeof error;
    if (poll(&waiting, 1, kConnectMilliseconds) <= 0)
      error = ETIMEDOUT;
    else
      getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  }
  if (error != 0)
    return fail(ErrorKind::absent,
                "the guest at {} takes no commands: {}; `weft lab status` says whether it has ended",
                to_string(address), std::strerror(error));
  const int one = 1;
  const int flags = fcntl(fd.get(), F_GETFL);
  fcntl(fd.get(), F_SETFL, flags & ~O_NONBLOCK);
  setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  return GuestStream(std::move(fd));
}

Result<void> GuestStream::send(FrameKind kind, std::string_view bytes) const {
  std::array<std::byte, kHeader> header{};
  store_u8(header, 0, static_cast<std::uint8_t>(kind));
  store_be32(header, 1, static_cast<std::uint32_t>(bytes.size()));
  std::string frame(reinterpret_cast<const char*>(header.data()), header.size());
  frame += bytes;
  while (!frame.empty()) {
    const ssize_t sent = ::send(socket_.get(), frame.data(), frame.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return closed();
    frame.erase(0, static_cast<std::size_t>(sent));
  }
  return {};
}

Result<Frame> GuestStream::receive() const {
  std::array<std::byte, kHeader> header{};
  if (!read_exactly(socket_.get(), header.data(), header.size())) return closed();
  const std::uint8_t kind = load_u8(header, 0);
  const std::uint32_t length = load_be32(header, 1);
  if (kind > static_cast<std::uint8_t>(FrameKind::end) || length > kMaxGuestFrame)
    return fail(ErrorKind::invalid_input, "the guest's connection carries something else");
  Frame frame{static_cast<FrameKind>(kind), std::string(length, '\0')};
  if (!read_exactly(socket_.get(), reinterpret_cast<std::byte*>(frame.bytes.data()), length)) return closed();
  return frame;
}

Result<GuestStream::Readable> GuestStream::wait(std::array<int, 2> others) const {
  std::array<pollfd, 3> all{{{socket_.get(), POLLIN, 0}, {others[0], POLLIN, 0}, {others[1], POLLIN, 0}}};
  if (poll(all.data(), all.size(), -1) < 0 && errno != EINTR)
    return fail(ErrorKind::internal, "poll: {}", std::strerror(errno));
  return Readable{all[0].revents != 0, {all[1].revents != 0, all[2].revents != 0}};
}

}  // namespace weft::lab
