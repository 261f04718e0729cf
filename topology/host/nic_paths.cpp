#include "topology/host/nic_paths.hpp"

#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <vector>

#include "topology/os/file_descriptor.hpp"
#include "topology/os/socket_address.hpp"

namespace weft::host {
namespace {

constexpr std::size_t kIpv4Header = 20;
constexpr std::size_t kIpv6Header = 40;
constexpr std::size_t kIcmpHeader = 8;
constexpr std::size_t kSmall = 64;
constexpr int kTries =
    4;  // what is not answered is a fault of the fabric: a host that is busy for a while is none
constexpr int kChecks = 8;    // small packets, none of which is lost where large ones vanish
constexpr int kMaxLate = 64;  // packets that are looked at once the time is over
constexpr auto kPatience = std::chrono::milliseconds(250);  // far above any round trip within a fabric

std::uint16_t checksum(const std::vector<std::uint8_t>& bytes) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < bytes.size(); i += 2)
    sum += static_cast<std::uint32_t>(bytes[i] << 8 | (i + 1 < bytes.size() ? bytes[i + 1] : 0));
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

class Echo {
 public:
  static Result<Echo> open(const IpAddress& from, const IpAddress& to) {
    const int family = from.is_v6() ? AF_INET6 : AF_INET;
    const int protocol = from.is_v6() ? static_cast<int>(IPPROTO_ICMPV6) : static_cast<int>(IPPROTO_ICMP);
    os::FileDescriptor socket(::socket(family, SOCK_RAW | SOCK_CLOEXEC, protocol));
    if (!socket) return fail(ErrorKind::permission, "no socket for ICMP echoes: {}", std::strerror(errno));
    static_assert(int{IPV6_PMTUDISC_PROBE} == int{IP_PMTUDISC_PROBE});
    const int probe = IP_PMTUDISC_PROBE;
    const int level = from.is_v6() ? static_cast<int>(IPPROTO_IPV6) : static_cast<int>(IPPROTO_IP);
    setsockopt(socket.get(), level, from.is_v6() ? IPV6_MTU_DISCOVER : IP_MTU_DISCOVER, &probe, sizeof probe);
    const auto own = os::socket_address(from, UdpPort(0));
    const auto far = os::socket_address(to, UdpPort(0));
    if (bind(socket.get(), own.get(), own.size) != 0 || connect(socket.get(), far.get(), far.size) != 0)
      return fail(ErrorKind::absent, "from {} to {}: {}", to_string(from), to_string(to),
                  std::strerror(errno));
    return Echo(std::move(socket), from.is_v6());
  }

  /// An IP packet of `size` bytes in all came back.
  bool answered(std::size_t size) {
    first_ = static_cast<std::uint16_t>(sequence_ + 1);
    for (int attempt = 0; attempt < kTries; ++attempt) {
      if (!send_echo(size))
        poll(nullptr, 0, static_cast<int>(kPatience.count()));
      else if (came_back())
        return true;
    }
    return false;
  }

  /// Each of so many packets came back, at the first attempt.
  bool all_answered(std::size_t size, int packets) {
    for (int i = 0; i < packets; ++i) {
      first_ = static_cast<std::uint16_t>(sequence_ + 1);
      if (!send_echo(size) || !came_back()) return false;
    }
    return true;
  }

 private:
  Echo(os::FileDescriptor socket, bool v6)
      : socket_(std::move(socket)), v6_(v6), id_(static_cast<std::uint16_t>(getpid())) {}

  bool send_echo(std::size_t size) {
    std::vector<std::uint8_t> packet(std::max(size - (v6_ ? kIpv6Header : kIpv4Header), kIcmpHeader));
    packet[0] = v6_ ? ICMP6_ECHO_REQUEST : ICMP_ECHO;
    ++sequence_;
    for (const auto& [at, value] : {std::pair<std::size_t, std::uint16_t>{4, id_}, {6, sequence_}}) {
      packet[at] = static_cast<std::uint8_t>(value >> 8);
      packet[at + 1] = static_cast<std::uint8_t>(value);
    }
    if (!v6_) {  // of ICMPv6 the kernel computes it
      const auto sum = checksum(packet);
      packet[2] = static_cast<std::uint8_t>(sum >> 8);
      packet[3] = static_cast<std::uint8_t>(sum);
    }
    return send(socket_.get(), packet.data(), packet.size(), 0) == static_cast<ssize_t>(packet.size());
  }

  bool came_back() {
    using Clock = std::chrono::steady_clock;
    const auto deadline = Clock::now() + kPatience;
    for (int late = 0; late < kMaxLate;) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
      pollfd waiting{.fd = socket_.get(), .events = POLLIN, .revents = 0};
      late += left <= 0 ? 1 : 0;
      // Also when its time is over: it may have come while this process was not scheduled.
      if (poll(&waiting, 1, static_cast<int>(std::max<std::int64_t>(left, 0))) <= 0) return false;
      std::array<std::uint8_t, 128> front{};  // the rest of it says nothing more
      const auto got = recv(socket_.get(), front.data(), front.size(), 0);
      if (got < 0) return false;  // an ICMP error came, as "fragmentation needed"
      if (is_ours(front.data(), static_cast<std::size_t>(got))) return true;
    }
    return false;
  }

  bool is_ours(const std::uint8_t* bytes, std::size_t size) const {
    const std::size_t start = v6_ || size == 0 ? 0 : std::size_t{bytes[0] & 0xfU} * 4;
    if (size < start + kIcmpHeader) return false;
    const auto word = [&](std::size_t at) {
      return static_cast<std::uint16_t>(bytes[start + at] << 8 | bytes[start + at + 1]);
    };
    // One of an earlier attempt, of the same size, is as good.
    return bytes[start] == (v6_ ? ICMP6_ECHO_REPLY : ICMP_ECHOREPLY) && word(4) == id_ && word(6) >= first_ &&
           word(6) <= sequence_;
  }

  os::FileDescriptor socket_;
  bool v6_;
  std::uint16_t id_;
  std::uint16_t sequence_ = 0;
  std::uint16_t first_ = 0;  // of the attempts with this size
};

}  // namespace

Result<PathToNic> try_path(const IpAddress& from, const IpAddress& to, Bytes mtu) {
  WEFT_TRY(auto echo, Echo::open(from, to));
  PathToNic path{.from = to_string(from), .to = to_string(to)};
  path.small_answered = echo.answered(kSmall);
  const auto full = static_cast<std::size_t>(std::clamp<std::int64_t>(mtu.count(), kSmall, 65'535));
  if (!path.small_answered || full <= kSmall) return path;
  path.full = Bytes(static_cast<std::int64_t>(full));
  path.full_answered = echo.answered(full);
  // Where small packets are lost as well it is no matter of their size: what a sweep tells.
  if (!path.full_answered && !echo.all_answered(kSmall, kChecks)) path.full.reset();
  return path;
}

}  // namespace weft::host
