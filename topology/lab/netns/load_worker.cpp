#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>
#include <time.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "topology/lab/netns/fault.hpp"
#include "topology/os/child_process.hpp"

namespace weft::lab {
namespace {

using Clock = std::chrono::steady_clock;

// IEEE 802 "Local Experimental Ethertype 1": no stack takes it, none answers.
constexpr std::uint16_t kEtherType = 0x88B5;
constexpr std::size_t kEthernetHeader = 14;
// A sender this far behind its schedule was not scheduled itself: it goes on from now, without a burst.
constexpr std::chrono::milliseconds kForgiven{20};
constexpr std::chrono::milliseconds kRetry{100};  // after a failed send, as on a cable that is down

Result<sockaddr_ll> address_of(const LoadWork& work) {
  sockaddr_ll to{};
  to.sll_family = AF_PACKET;
  to.sll_protocol = htons(kEtherType);
  to.sll_ifindex = static_cast<int>(if_nametoindex(work.interface.c_str()));
  to.sll_halen = 6;
  unsigned byte[6];
  const int read = std::sscanf(work.to_mac.c_str(), "%x:%x:%x:%x:%x:%x", &byte[0], &byte[1], &byte[2],
                               &byte[3], &byte[4], &byte[5]);
  if (to.sll_ifindex == 0 || read != 6)
    return fail(ErrorKind::not_found, "no interface {} to send load by", work.interface);
  for (int i = 0; i < 6; ++i) to.sll_addr[i] = static_cast<unsigned char>(byte[i]);
  return to;
}

void sleep_until(Clock::time_point when) {
  const auto ns = std::chrono::duration_cast<Nanoseconds>(when.time_since_epoch()).count();
  const timespec time{.tv_sec = ns / 1'000'000'000, .tv_nsec = ns % 1'000'000'000};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr);  // steady_clock is CLOCK_MONOTONIC
}

void send_paced(int socket_fd, const sockaddr_ll& to, const LoadWork& work) {
  const std::vector<char> frame(static_cast<std::size_t>(work.size.count()), 'w');
  const Nanoseconds gap =
      work.rate.time_for(Bytes(static_cast<std::int64_t>(frame.size() + kEthernetHeader)));
  const auto end = Clock::now() + kMaxLoad;
  for (auto next = Clock::now(); next < end; next += gap) {
    if (Clock::now() - next > kForgiven) next = Clock::now();
    sleep_until(next);
    const auto sent =
        sendto(socket_fd, frame.data(), frame.size(), 0, reinterpret_cast<const sockaddr*>(&to), sizeof to);
    if (sent >= 0 || errno == ENOBUFS) continue;    // ENOBUFS: the channel is full, as it should be
    if (errno == ENXIO || errno == ENODEV) return;  // the interface has gone
    sleep_until(Clock::now() + kRetry);
  }
}

}  // namespace

Result<os::ProcessMark> start_load(const LoadWork& work) {
  sockaddr_ll to{};
  os::FileDescriptor socket_fd;
  const auto prepare = [&]() -> Result<void> {
    WEFT_TRY(const auto address, address_of(work));
    to = address;
    // Protocol 0: it receives nothing.
    socket_fd = os::FileDescriptor(socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!socket_fd) return fail(ErrorKind::permission, "packet socket for load: {}", std::strerror(errno));
    return {};
  };
  return os::start_worker("weft-load", prepare, [&] { send_paced(socket_fd.get(), to, work); });
}

}  // namespace weft::lab
