#include "probes/engine/raw/packet_socket.hpp"

#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

namespace weft::raw {
namespace {

constexpr std::size_t kBatch = 64;  // frames of one recvmmsg or sendmmsg
// Socket buffers, in bytes: 5,000 small frames to come, and more to go than a shaped queue of 60 KB holds, so
// that the queue and not the socket decides.
constexpr int kReceiveBuffer = 8 << 20;
constexpr int kSendBuffer = 4 << 20;
constexpr std::size_t kLinkHeader = 18;  // Ethernet with a tag

Nanoseconds clock_now(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return std::chrono::seconds(time.tv_sec) + Nanoseconds(time.tv_nsec);
}

Result<void> bind_to(const os::FileDescriptor& socket, const nic::HostNic& nic, const nic::KernelNic& kernel,
                     nic::PacketRole role) {
  auto program = nic::packet_filter(role, nic.address.is_v6());
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  if (::setsockopt(socket.get(), SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter) != 0)
    return fail(ErrorKind::internal, "the kernel refuses the packet filter: {}", std::strerror(errno));
  const int protocol = role == nic::PacketRole::sender ? 0 : nic.address.is_v6() ? ETH_P_IPV6 : ETH_P_IP;
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(static_cast<std::uint16_t>(protocol));
  address.sll_ifindex = kernel.index;
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return fail(ErrorKind::absent, "cannot bind to {}: {}", nic.interface, std::strerror(errno));
  return {};
}

void size_buffers(const os::FileDescriptor& socket) {
  // FORCE passes the system's limit but needs CAP_NET_ADMIN; without it the limit serves.
  if (::setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUFFORCE, &kReceiveBuffer, sizeof kReceiveBuffer) != 0)
    ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUF, &kReceiveBuffer, sizeof kReceiveBuffer);
  if (::setsockopt(socket.get(), SOL_SOCKET, SO_SNDBUFFORCE, &kSendBuffer, sizeof kSendBuffer) != 0)
    ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDBUF, &kSendBuffer, sizeof kSendBuffer);
}

/// The kernel's receive time on the wall clock; nothing where it gave none.
std::optional<Nanoseconds> stamp_of(msghdr& message) {
  for (auto* control = CMSG_FIRSTHDR(&message); control != nullptr;
       control = CMSG_NXTHDR(&message, control)) {
    if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_TIMESTAMPNS) continue;
    timespec time{};
    std::memcpy(&time, CMSG_DATA(control), sizeof time);
    return std::chrono::seconds(time.tv_sec) + Nanoseconds(time.tv_nsec);
  }
  return std::nullopt;
}

}  // namespace

struct PacketSocket::Buffers {
  static constexpr std::size_t kControl = CMSG_SPACE(sizeof(timespec));

  explicit Buffers(std::size_t frame_size) : size(frame_size), bytes(new std::byte[kBatch * frame_size]) {
    for (std::size_t i = 0; i < kBatch; ++i) {
      in_vectors[i] = {.iov_base = bytes.get() + i * size, .iov_len = size};
      in[i].msg_hdr.msg_iov = &in_vectors[i];
      in[i].msg_hdr.msg_iovlen = 1;
      in[i].msg_hdr.msg_control = controls[i].data();
      out[i].msg_hdr.msg_iov = &out_vectors[i];
      out[i].msg_hdr.msg_iovlen = 1;
    }
  }

  std::size_t size;
  std::unique_ptr<std::byte[]> bytes;  // untouched, hence not resident, until frames come
  std::array<iovec, kBatch> in_vectors{};
  std::array<iovec, kBatch> out_vectors{};
  std::array<mmsghdr, kBatch> in{};
  std::array<mmsghdr, kBatch> out{};
  struct alignas(cmsghdr) Control : std::array<std::byte, kControl> {};
  std::array<Control, kBatch> controls{};
  std::array<datapath::Arrival, kBatch> arrivals;
};

PacketSocket::PacketSocket(os::FileDescriptor socket, std::string interface, nic::PacketRole role,
                           std::size_t frame_size)
    : socket_(std::move(socket)),
      interface_(std::move(interface)),
      role_(role),
      buffers_(std::make_unique<Buffers>(frame_size)) {}

PacketSocket::~PacketSocket() = default;

Result<std::unique_ptr<PacketSocket>> PacketSocket::open(const nic::HostNic& nic,
                                                         const nic::KernelNic& kernel, nic::PacketRole role) {
  WEFT_TRY(auto socket, nic::open_packet_socket());
  size_buffers(socket);
  const int on = 1;
  if (::setsockopt(socket.get(), SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on) != 0)
    return fail(ErrorKind::not_supported, "no receive timestamps: {}", std::strerror(errno));
  if (auto bound = bind_to(socket, nic, kernel, role); !bound) return pass_on(bound);
  return std::unique_ptr<PacketSocket>(
      new PacketSocket(std::move(socket), nic.interface, role, kernel.local.mtu + kLinkHeader));
}

Nanoseconds PacketSocket::now() const { return clock_now(CLOCK_MONOTONIC); }

Result<datapath::SendOutcome> PacketSocket::send(std::span<const ByteSpan> frames) {
  const auto count = std::min(frames.size(), kBatch);
  for (std::size_t i = 0; i < count; ++i)
    buffers_->out_vectors[i] = {.iov_base = const_cast<std::byte*>(frames[i].data()),
                                .iov_len = frames[i].size()};
  const int taken =
      ::sendmmsg(socket_.get(), buffers_->out.data(), static_cast<unsigned>(count), MSG_DONTWAIT);
  if (taken >= 0) return datapath::SendOutcome{.taken = static_cast<std::size_t>(taken)};
  switch (errno) {
    case EAGAIN:
    case ENOBUFS:  // the interface's queue dropped it
    case EINTR:
      return datapath::SendOutcome{};
    case EMSGSIZE:
      return datapath::SendOutcome{.too_large = true};
    default:
      return fail(ErrorKind::absent, "cannot send on {}: {}", interface_, std::strerror(errno));
  }
}

bool PacketSocket::wait(Nanoseconds until) const {
  const auto left = std::max(until - now(), Nanoseconds(0));
  const timespec time{.tv_sec = static_cast<time_t>(left.count() / 1'000'000'000),
                      .tv_nsec = static_cast<long>(left.count() % 1'000'000'000)};
  pollfd ready{.fd = role_ == nic::PacketRole::sender ? -1 : socket_.get(), .events = POLLIN, .revents = 0};
  return ::ppoll(&ready, 1, &time, nullptr) > 0;
}

Result<std::span<const datapath::Arrival>> PacketSocket::receive(Nanoseconds until) {
  if (until > now() && !wait(until)) return std::span<const datapath::Arrival>();
  if (role_ == nic::PacketRole::sender) return std::span<const datapath::Arrival>();
  for (auto& message : buffers_->in) message.msg_hdr.msg_controllen = Buffers::kControl;
  const int count = ::recvmmsg(socket_.get(), buffers_->in.data(), kBatch, MSG_DONTWAIT, nullptr);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return std::span<const datapath::Arrival>();
  if (count < 0) return fail(ErrorKind::absent, "cannot receive on {}: {}", interface_, std::strerror(errno));
  // The kernel stamps with the wall clock, which may be set at any time; ours must not step.
  const auto steady = now();
  const auto offset = clock_now(CLOCK_REALTIME) - steady;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    const auto stamp = stamp_of(buffers_->in[i].msg_hdr);
    buffers_->arrivals[i] = {
        .frame = ByteSpan(buffers_->bytes.get() + i * buffers_->size, buffers_->in[i].msg_len),
        .at = stamp ? *stamp - offset : steady};
  }
  return std::span<const datapath::Arrival>(buffers_->arrivals).first(static_cast<std::size_t>(count));
}

std::uint64_t PacketSocket::overruns() {
  tpacket_stats stats{};
  socklen_t size = sizeof stats;
  if (::getsockopt(socket_.get(), SOL_PACKET, PACKET_STATISTICS, &stats, &size) != 0) return 0;
  return stats.tp_drops;
}

}  // namespace weft::raw
